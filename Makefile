.PHONY: test test-servers check-seed fmt lint

# Everything, ending in one line: N passed, M failed, K skipped.
test: test-servers
	@tests/run.sh

# The servers that the tests start, from the committed lock file. Skipped without npm.
test-servers:
	@tests/servers.sh

# The example of Iron Cushion's README in full size, counts and memory asserted; needs curl.
check-seed:
	@tests/seed-example.sh

fmt:
	cargo fmt

lint:
	cargo fmt --check
	cargo clippy --all-targets --all-features -- -D warnings
