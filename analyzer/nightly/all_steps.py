"""The steps of a night, in order."""

from gauntlet.analyzer.nightly.act import act
from gauntlet.analyzer.nightly.bring_in import bring_in
from gauntlet.analyzer.nightly.look import classify, incidents, judge
from gauntlet.analyzer.nightly.night import Step
from gauntlet.analyzer.nightly.probe import probe
from gauntlet.analyzer.nightly.tell import tell
from gauntlet.analyzer.nightly.watch import watch

STEPS = (
    Step(name="ingest", run=bring_in),
    Step(name="judge", run=judge),
    Step(name="classify", run=classify),
    Step(name="incidents", run=incidents),
    Step(name="probes", run=probe),
    Step(name="act", run=act),
    Step(name="alerts", run=watch),
    Step(name="report", run=tell),
)
