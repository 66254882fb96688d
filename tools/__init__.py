"""What maintainers run: the writers of the pages that are generated from ops and relations."""
