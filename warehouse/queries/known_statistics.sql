-- Which statistics of which metrics are there, and of how many series?
SELECT metric, statistic, `window`, any(unit) AS unit, any(direction) AS direction, uniqExact(series_id) AS series
FROM metrics
WHERE value IS NOT NULL
GROUP BY metric, statistic, `window`
ORDER BY metric, statistic, `window`
