-- Which known tests are called so, or nearly so, nearest first?
-- @nodeid: the name that was looked for
-- @limit: how many = 8
SELECT nodeid, nodeid = {nodeid: String} AS exact, ngramDistance(nodeid, {nodeid: String}) AS distance
FROM (SELECT test_id, any(t.nodeid) AS nodeid FROM tests AS t GROUP BY test_id)
ORDER BY exact DESC, distance, nodeid
LIMIT {limit: UInt32}
