package perf

// Thresholds are what the classes and findings compare with. They are ours: HPAA's manual
// gives none.
type Thresholds struct {
	// Busy is the share of mcu_cycle from which a unit counts as busy, Lead how many
	// times the other one it has to take to lead.
	Busy Ratio `json:"busy"`
	Lead Ratio `json:"lead"`
	// Half is the share of mcu_cycle below which all units together do little, and the
	// overlap below which moves and maths wait for each other, if both take Small.
	Half  Ratio `json:"half"`
	Small Ratio `json:"small"`
	// Wait is the share of mcu_cycle that is too much waiting for other cores, Conflict
	// that of bank conflicts where there is no baseline.
	Wait     Ratio `json:"wait"`
	Conflict Ratio `json:"conflict"`
	// Grow is by which share the bytes and conflicts of the baseline may grow, Regress
	// that of mcu_cycle. Less than MinBytes and MinCycles is no growth.
	Grow      Ratio `json:"grow"`
	Regress   Ratio `json:"regress"`
	MinBytes  int64 `json:"min_bytes"`
	MinCycles int64 `json:"min_cycles"`
	// Imbalance is how many times the mean of the cores the slowest takes, Unstable how
	// many times the median of the runs the longest.
	Imbalance Ratio `json:"imbalance"`
	Unstable  Ratio `json:"unstable"`
}

// DefaultThresholds are the thresholds unless others are given.
func DefaultThresholds() Thresholds {
	return Thresholds{
		Busy: ratio("0.6"), Lead: ratio("1.25"), Half: ratio("0.5"), Small: ratio("0.15"), Wait: ratio("0.25"), Conflict: ratio("0.1"),
		Grow: ratio("0.05"), Regress: ratio("0.05"), MinBytes: 4096, MinCycles: 1000,
		Imbalance: ratio("1.25"), Unstable: ratio("1.25"),
	}
}
