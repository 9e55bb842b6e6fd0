#!/bin/sh
# Runs the compiler on a crate of the workspace (RUSTC_WORKSPACE_WRAPPER) so that the program counts what of its code is run, and
# with some optimization. Dependencies are those of any other debug build.
exec "$@" -C instrument-coverage -C opt-level=1 --cfg instrumented
