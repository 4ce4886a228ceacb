.PHONY: test slowest test-servers check-seed fuzz mutants bench fmt lint docs \
    pages notices deb rpm FORCE

# Everything, ending in one line: N passed, M failed, K skipped.
test: test-servers
	@tests/run.sh

# The 20 tests that took longest in the last `make test`.
slowest:
	@tests/run.sh --slowest

# The servers that the tests start and the driver of their browser, from the committed lock files.
# Skipped without npm.
test-servers:
	@tests/servers.sh

# The example of Iron Cushion's README in full size, counts and memory asserted; needs curl.
check-seed:
	@tests/seed-example.sh

# Every file, new ones too: cargo fmt does not find modules declared by a list of drivers or
# workloads.
RUSTFMT = git ls-files -co --exclude-standard '*.rs' | xargs rustfmt --edition 2024
fmt:
	$(RUSTFMT)

# Clippy for what the first `cargo run` builds, and for what `make test` does; the documentation of
# the public interface, and of what tests see; the rules of tests/tidy.rs, which take seconds and
# would otherwise be checked last.
lint:
	$(RUSTFMT) --check
	cargo test --all-features --test tidy --quiet
	cargo clippy -- -D warnings
	cargo clippy --all-targets --all-features -- -D warnings
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps
	RUSTDOCFLAGS="-D warnings" cargo doc --no-deps --all-features

# Each fuzz target in turn; needs a nightly toolchain and cargo-fuzz. What they find lies in
# fuzz/artifacts/.
FUZZ_SECONDS ?= 30
fuzz:
	@for target in $$(cargo +nightly fuzz list); do \
	    mkdir -p fuzz/corpus/$$target && \
	    cargo +nightly fuzz run $$target fuzz/corpus/$$target fuzz/seeds/$$target -- \
	        -max_total_time=$(FUZZ_SECONDS) -max_len=65536 -timeout=10 || exit 1; \
	done

# Changes the code here and there, all in one build, and lists the changes that the unit tests do
# not notice; docs/mutants.md. Needs cargo-mutants.
mutants:
	@tests/mutants.sh

# Client CPU per request beside other tools, where installed, and what they say of slow servers;
# writes docs/benchmarks.md and the results in docs/pathologies.md.
bench:
	@benches/peers.sh
	@benches/pathologies.sh

# The documentation as a site with a search, in target/book. mdBook is built once, beside it. With
# the address of the repository, REPOSITORY=…, links to what is not on the site lead there.
MDBOOK = target/tools/bin/mdbook
docs: $(MDBOOK)
	.github/site.sh target/site $(REPOSITORY)
	$(MDBOOK) build

$(MDBOOK):
	cargo install --locked --quiet --root target/tools --no-default-features --features search mdbook

# What packages contain besides the program, in target/package-files: completions and man pages.
FILES ?= target/package-files
BINARY ?= target/dist/springload
pages: $(BINARY)
	rm -rf $(FILES)/man1 && mkdir -p $(FILES)
	for shell in bash zsh fish; do \
	    $(BINARY) completions $$shell > $(FILES)/springload.$$shell || exit 1; \
	done
	$(BINARY) man --out $(FILES)/man1
	gzip -9 -n $(FILES)/man1/*.1

# The licenses of everything in the program, as they require. deny.toml alone lists which are
# accepted. Without network, because what is found there differs from day to day. Needs
# cargo-about (cargo install --locked --features cli cargo-about).
notices:
	mkdir -p $(FILES)
	sed -n 's/^allow = \[/accepted = [/; /^accepted/,/^]/p' deny.toml | cat - about.toml \
	    > target/about.toml
	cargo fetch --locked
	cargo about generate --offline --locked --all-features --fail --config target/about.toml \
	    --output-file $(FILES)/NOTICES.txt about.hbs
	for license in crates/report/assets/*/LICENSE; do \
	    printf '\n%s\n\n' "License of $$(basename "$$(dirname "$$license")"):" && \
	    cat "$$license" || exit 1; \
	done >> $(FILES)/NOTICES.txt

# Cargo knows whether it is current; a release packs what it has tested (--old-file).
target/dist/springload: FORCE
	cargo build --profile dist --locked --features databases,broker,push,http2,ycsb-java

# Packages for Debian and for Fedora; need cargo-deb and cargo-generate-rpm.
# Stripped here, whoever has built it.
deb: pages notices
	strip target/dist/springload
	cargo deb --no-build --profile dist
rpm: pages notices
	strip target/dist/springload
	cargo generate-rpm --profile dist
