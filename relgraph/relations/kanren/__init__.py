"""Relations and goals that miniKanren runs: what adapts them to it, and the reasons."""
