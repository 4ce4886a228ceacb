# Servers from npm for the tests. The lock file names no registry: npm's own configuration does.
.PHONY: test-servers
test-servers:
	npm ci --prefix tests/servers --no-audit --no-fund
