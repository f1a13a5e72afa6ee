-- What did the door refuse lately, and why?
-- @days: how many days back = 7
-- @limit: how many = 100
SELECT at, source, origin, position, target, reasons, raw
FROM rejected_rows
WHERE at > now() - toIntervalDay({days: UInt16})
ORDER BY at DESC, source, origin, position
LIMIT 1 BY source, origin, position, reasons
LIMIT {limit: UInt32}
