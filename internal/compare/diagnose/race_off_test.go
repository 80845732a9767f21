//go:build !race

package diagnose

// calibration is the part of the networks that are judged: all.
const calibration = 1
