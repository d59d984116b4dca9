//! Walks one data interval from claim to receipt, with resume, retry and resolution.
