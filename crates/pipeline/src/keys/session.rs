//! The keys of `[session]`.

use super::{Key, Kind, Setting, Unwritten, pipeline};

const fn setting(name: &'static str, of: Setting) -> Key {
    pipeline("session", name, Kind::Setting(of), Unwritten::Said("the server's"), "planner setting of PostgreSQL")
}

/// What a pipeline may set of its connection.
pub(super) const KEYS: &[Key] = &[
    pipeline(
        "session",
        "search_path",
        Kind::Schemas,
        Unwritten::Said("the server's"),
        "schemas in which bare names are looked up; part of the code hash",
    ),
    setting("work_mem", Setting::Memory),
    setting("temp_buffers", Setting::Memory),
    setting("effective_cache_size", Setting::Memory),
    setting("hash_mem_multiplier", Setting::Number),
    setting("random_page_cost", Setting::Number),
    setting("seq_page_cost", Setting::Number),
    setting("max_parallel_workers_per_gather", Setting::Whole),
    setting("from_collapse_limit", Setting::Whole),
    setting("join_collapse_limit", Setting::Whole),
    setting("default_statistics_target", Setting::Whole),
    setting("geqo", Setting::Switch),
    setting("jit", Setting::Switch),
    setting("enable_async_append", Setting::Switch),
    setting("enable_bitmapscan", Setting::Switch),
    setting("enable_gathermerge", Setting::Switch),
    setting("enable_hashagg", Setting::Switch),
    setting("enable_hashjoin", Setting::Switch),
    setting("enable_incremental_sort", Setting::Switch),
    setting("enable_indexonlyscan", Setting::Switch),
    setting("enable_indexscan", Setting::Switch),
    setting("enable_material", Setting::Switch),
    setting("enable_memoize", Setting::Switch),
    setting("enable_mergejoin", Setting::Switch),
    setting("enable_nestloop", Setting::Switch),
    setting("enable_parallel_append", Setting::Switch),
    setting("enable_parallel_hash", Setting::Switch),
    setting("enable_partition_pruning", Setting::Switch),
    setting("enable_partitionwise_aggregate", Setting::Switch),
    setting("enable_partitionwise_join", Setting::Switch),
    setting("enable_seqscan", Setting::Switch),
    setting("enable_sort", Setting::Switch),
];
