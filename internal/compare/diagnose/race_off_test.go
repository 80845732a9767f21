//go:build !race

package diagnose

// calibration divides the number of networks to judge: 1 for all.
const calibration = 1
