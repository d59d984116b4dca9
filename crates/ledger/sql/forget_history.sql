-- Writes down that the rows which these publishes replaced are kept no more; in the transaction that deletes them.
-- $1 attempt_ids int8[]
update thrice.publications set history_expires_at = null where attempt_id = any ($1::int8[])
