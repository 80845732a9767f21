//go:build race

package diagnose

// calibration divides the number of networks to judge: the race detector makes them slow, and
// they run one after the other anyway.
const calibration = 10
