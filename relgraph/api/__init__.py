"""The public interface, where the layers meet: functions, rewriting, derivations."""
