package page

import (
	"encoding/json"
	"fmt"

	"dumptool/internal/lang"
)

// The most rows of a document that a page has.
const maxOthers = 1000

// overflow is what the page shows of the document of overflow analyze or scan. Numbers
// of tensors may be words, and are shown as they are.
type overflow struct {
	Schema   string           `json:"schema"`
	Records  []overflowRecord `json:"records"`
	Problems []problem        `json:"problems"`
	// Left counts the records that are left out.
	Left int `json:"left"`
}

// overflowRecord is a record, or a file with tensors that are not finite.
type overflowRecord struct {
	File     string           `json:"file"`
	Rank     string           `json:"rank"`
	Step     string           `json:"step"`
	Time     string           `json:"time"`
	Unit     string           `json:"acc_type"`
	Causes   []cause          `json:"causes"`
	Op       *overflowOp      `json:"op"`
	OpType   string           `json:"op_type,omitempty"`
	OpName   string           `json:"op_name,omitempty"`
	Tensors  []overflowTensor `json:"tensors"`
	Verdict  string           `json:"verdict"`
	Reason   string           `json:"reason"`
	Advice   []lang.Text      `json:"advice"`
	Warnings []string         `json:"warnings"`
}

type cause struct {
	Mask string `json:"mask"`
	lang.Text
}

type overflowOp struct {
	Type      string `json:"type"`
	Name      string `json:"name"`
	File      string `json:"file"`
	MatchedBy string `json:"matched_by"`
}

type overflowTensor struct {
	Kind      string  `json:"kind"`
	Index     int     `json:"index"`
	DType     string  `json:"dtype"`
	Shape     []int64 `json:"shape"`
	NaN       int64   `json:"nan"`
	PosInf    int64   `json:"pos_inf"`
	NegInf    int64   `json:"neg_inf"`
	Saturated int64   `json:"saturated"`
	Min       any     `json:"min"`
	Max       any     `json:"max"`
	Bad       bool    `json:"bad"`
	Error     string  `json:"error,omitempty"`
}

type problem struct {
	File  string `json:"file"`
	Error string `json:"error"`
}

// CheckOverflow reports whether a document is one that Options.Overflow takes.
func CheckOverflow(text json.RawMessage) error {
	_, err := overflowOf(text)
	return err
}

// CheckDeterminism reports whether a document is one that Options.Determinism takes.
func CheckDeterminism(text json.RawMessage) error {
	_, err := determinismOf(text)
	return err
}

// CheckPerf reports whether a document is one that Options.Perf takes.
func CheckPerf(text json.RawMessage) error {
	_, err := performanceOf(text)
	return err
}

// overflowOf reads a document of overflow analyze or scan. The files of a scan stand for
// records; those without a bad tensor are left out.
func overflowOf(text json.RawMessage) (*overflow, error) {
	if text == nil {
		return nil, nil
	}
	var doc struct {
		overflow
		Rows []overflowRecord `json:"rows"`
	}
	if err := json.Unmarshal(text, &doc); err != nil {
		return nil, fmt.Errorf("overflow document: %w", err)
	}
	o := &doc.overflow
	for i := range doc.Rows {
		r := &doc.Rows[i]
		r.Op = &overflowOp{Type: r.OpType, Name: r.OpName}
		o.Records = append(o.Records, *r)
	}
	if o.Left = max(0, len(o.Records)-maxOthers); o.Left > 0 {
		o.Records = o.Records[:maxOthers]
	}
	o.Problems = o.Problems[:min(len(o.Problems), maxOthers)]
	return o, nil
}

// determinism is what the page shows of the document of compare determinism: the tensors
// that differ, or could not be compared.
type determinism struct {
	Schema    string           `json:"schema"`
	Runs      []string         `json:"runs"`
	Order     string           `json:"order_source"`
	Tensors   int64            `json:"tensors"`
	Differing int64            `json:"differing"`
	Unread    int64            `json:"unread"`
	First     string           `json:"first"`
	Missing   []string         `json:"missing"`
	Warnings  []string         `json:"warnings"`
	Rows      []determinismRow `json:"rows"`
	Left      int              `json:"left"`
}

type determinismRow struct {
	Op       string           `json:"op"`
	Kind     string           `json:"kind"`
	Output   int              `json:"output"`
	Round    string           `json:"round"`
	Status   string           `json:"status"`
	Distinct int64            `json:"distinct"`
	Places   string           `json:"places"`
	Error    string           `json:"error,omitempty"`
	Runs     []determinismRun `json:"runs"`
}

type determinismRun struct {
	Differ     int64  `json:"differ"`
	DifferBits int64  `json:"differ_bits"`
	MaxAbs     any    `json:"max_abs"`
	MaxULP     any    `json:"max_ulp"`
	Why        string `json:"why,omitempty"`
}

// determinismOf reads a document of compare determinism.
func determinismOf(text json.RawMessage) (*determinism, error) {
	if text == nil {
		return nil, nil
	}
	d := new(determinism)
	if err := json.Unmarshal(text, d); err != nil {
		return nil, fmt.Errorf("determinism document: %w", err)
	}
	var rows []determinismRow
	for i := range d.Rows {
		if d.Rows[i].Status == "PASS" {
			continue
		}
		if len(rows) == maxOthers {
			d.Left++
			continue
		}
		rows = append(rows, d.Rows[i])
	}
	d.Rows = rows
	return d, nil
}

// performance is what the page shows of the document of perf. Counters that are not known
// are null.
type performance struct {
	Schema    string            `json:"schema"`
	Files     []string          `json:"files"`
	Total     any               `json:"total_mcu_cycle"`
	Baseline  []string          `json:"baseline_files"`
	Before    any               `json:"baseline_total_mcu_cycle"`
	Missing   []string          `json:"missing"`
	Notes     []performanceNote `json:"notes"`
	Problems  []any             `json:"problems"`
	Operators []performanceOp   `json:"operators"`
	// Left counts the operators that are left out.
	Left int `json:"left"`
}

type performanceNote struct {
	Text string `json:"text"`
}

type performanceOp struct {
	Name       string `json:"name"`
	Rank       int    `json:"rank"`
	MCU        any    `json:"mcu_cycle"`
	Share      any    `json:"share_of_total"`
	Class      string `json:"class"`
	Confidence string `json:"confidence"`
	Derived    struct {
		Data    any `json:"share_mte"`
		Compute any `json:"share_compute"`
		Overlap any `json:"overlap"`
	} `json:"derived"`
	Status      string      `json:"status,omitempty"`
	Before      any         `json:"baseline_mcu_cycle,omitempty"`
	Explanation lang.Text   `json:"explanation"`
	Advice      []lang.Text `json:"advice_text"`
}

// performanceOf reads a document of perf.
func performanceOf(text json.RawMessage) (*performance, error) {
	if text == nil {
		return nil, nil
	}
	p := new(performance)
	if err := json.Unmarshal(text, p); err != nil {
		return nil, fmt.Errorf("perf document: %w", err)
	}
	if p.Left = max(0, len(p.Operators)-maxOthers); p.Left > 0 {
		p.Operators = p.Operators[:maxOthers]
	}
	p.Problems = p.Problems[:min(len(p.Problems), maxOthers)]
	return p, nil
}
