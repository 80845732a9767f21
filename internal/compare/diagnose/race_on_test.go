//go:build race

package diagnose

// calibration is the part of the networks that are judged: the race detector
// makes them slow, and they run one after the other anyway.
const calibration = 10
