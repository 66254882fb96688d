"""The cost of a program: what the CPU back end makes of a graph, and a machine's figures."""
