package perf

import (
	"encoding/json"

	"dumptool/internal/lang"
)

// Document is the JSON form of a report, of schema dumptool/perf/1, as other programs
// read it: json.Unmarshal fills it.
type Document struct {
	Schema string `json:"schema"`
	// Files are the tables of operators that were read, Sort is what they are ordered by.
	Files      []string   `json:"files"`
	Sort       SortKey    `json:"sort"`
	Thresholds Thresholds `json:"thresholds"`
	// MHz is the clock, PeakBPC the bytes that the DDR moves in a cycle at most; 0 if they
	// were not given.
	MHz     float64 `json:"mhz"`
	PeakBPC float64 `json:"peak_bpc"`
	// Total is the mcu_cycle of all operators.
	Total int64 `json:"total_mcu_cycle"`
	// BaselineFiles, BaselineTotal and Missing, the names of operators that are gone, are
	// there with a baseline only.
	BaselineFiles []string `json:"baseline_files"`
	BaselineTotal *int64   `json:"baseline_total_mcu_cycle"`
	Missing       []string `json:"missing"`
	// Operators are ranked. Hidden are pairs of a name and SPAN, SKIP_KEY or EXCLUDED, Top
	// the names of the operators at the top.
	Operators []DocumentOperator `json:"operators"`
	Hidden    [][2]string        `json:"hidden"`
	Top       []string           `json:"top"`
	// Cores are the numbers of the cores that have tables. Relation is how the table comes
	// from the runs in perf/, nil without them.
	Cores    []int          `json:"cores"`
	Relation *Relation      `json:"relation"`
	Runs     []DocumentRuns `json:"runs"`
	// MissingColumns and UnknownColumns are what the tables lack, and have beside what is
	// known.
	MissingColumns []string `json:"missing_columns"`
	UnknownColumns []string `json:"unknown_columns"`
	// Read has name, occurrence and mcu_cycle of every operator in the order of the
	// tables, if there are problems. A problem has its line and text, the number of the
	// cell, and the file.
	Read     [][3]any `json:"read"`
	Problems [][4]any `json:"problems"`
	// Notes say what is odd about the tables as a whole.
	Notes []Note `json:"notes"`
}

// DocumentOperator is an operator of a Document.
type DocumentOperator struct {
	Name string `json:"name"`
	// Counters are those of the table, each a key with the name of its column; null is an
	// unknown one.
	Counters Counters `json:"-"`
	Rank     int      `json:"rank"`
	// Occurrence is the number among the operators of the name, from 1, At the place in
	// the tables, from 0, which are File and Line.
	Occurrence int    `json:"occurrence"`
	At         int    `json:"at"`
	File       string `json:"file"`
	Line       int    `json:"line"`
	// Share and Cumulative are shares of the total, of the operator and of all up to it.
	Share      *float64   `json:"share_of_total"`
	Cumulative *float64   `json:"cumulative"`
	Class      Class      `json:"class"`
	Confidence Confidence `json:"confidence"`
	Evidence   []string   `json:"evidence"`
	// Unit is mme or vme for class compute, empty for the others.
	Unit string `json:"unit"`
	// Derived are the numbers that follow from the counters, by name: numbers, null, and
	// true or false for inconsistent.
	Derived map[string]any `json:"derived"`
	// Status, the numbers of the baseline, and Growth, by how many cycles mcu_cycle grew,
	// are there with a baseline only.
	Status             Status `json:"status"`
	BaselineMCUCycle   Count  `json:"baseline_mcu_cycle"`
	BaselinePLDByte    Count  `json:"base_mte_pld_byte"`
	BaselineL1Conflict Count  `json:"base_l1_conflict_cycle"`
	BaselineIMConflict Count  `json:"base_im_conflict_cycle"`
	Growth             Count  `json:"growth"`
	// SlowestCore is the core with the largest mcu_cycle, Mean the mean over the cores and
	// Imbalance how many times the mean the slowest takes; nil without tables of cores.
	SlowestCore *int     `json:"slowest_core"`
	Mean        *float64 `json:"mean"`
	Imbalance   *float64 `json:"imbalance"`
	// Advice are the findings, and AdviceText says in both languages what each means, as
	// Explanation does of the class.
	Advice      []Code      `json:"advice"`
	Explanation lang.Text   `json:"explanation"`
	AdviceText  []lang.Text `json:"advice_text"`
	// Extra are the cells of columns that are not known.
	Extra map[string]string `json:"extra"`
}

// UnmarshalJSON implements json.Unmarshaler.
func (o *DocumentOperator) UnmarshalJSON(text []byte) error {
	type plain DocumentOperator // without this method
	var counters map[string]json.RawMessage
	if err := json.Unmarshal(text, (*plain)(o)); err != nil {
		return err
	}
	if err := json.Unmarshal(text, &counters); err != nil {
		return err
	}
	for _, c := range Columns() {
		var n Count
		if value, ok := counters[c.String()]; ok {
			if err := n.UnmarshalJSON(value); err != nil {
				return err
			}
		}
		o.Counters.Set(c, n)
	}
	return nil
}

// DocumentRuns are the runs of an operator in a Document.
type DocumentRuns struct {
	Name   string  `json:"name"`
	N      int     `json:"runs"`
	Min    int64   `json:"min"`
	Median float64 `json:"median"`
	Max    int64   `json:"max"`
	// Unstable says that the longest run is far from the median.
	Unstable bool `json:"unstable"`
}
