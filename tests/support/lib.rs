//! Scratch databases and kill helpers.
