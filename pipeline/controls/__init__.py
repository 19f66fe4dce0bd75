"""What tells how much of a result means nothing."""

CONTROLS = {
    "noise": "pipeline.controls.noise:Noise",
    "probe": "pipeline.controls.probe:Probe",
    "random": "pipeline.controls.random:Random",
    "self": "pipeline.controls.self:Self",
    "whole_probe": "pipeline.controls.whole_probe:WholeProbe",
}
