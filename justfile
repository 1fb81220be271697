# Short names for what is done often. `.ci/run` is what counts.

test:
    cargo nextest run --workspace --all-features

lint:
    cargo clippy --workspace --all-targets --all-features -- -D warnings
    cargo fmt --all --check

bench *workloads:
    cargo bench --bench workloads -- {{workloads}}

ci:
    .ci/run
