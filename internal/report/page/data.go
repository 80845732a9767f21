package page

import (
	"encoding/json"
	"math"
	"strconv"

	"dumptool/internal/check"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/finding"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
)

// version is the version of the data; the page's script has the same.
const version = 1

// data is the input of the page's script: the head, and all rows as columns. Details of single rows
// are in further blocks.
type data struct {
	V     int    `json:"v"`
	Title string `json:"title"`
	Lang  string `json:"lang"`
	// Run is null in a page without a comparison.
	Run *runPage `json:"run"`
	// Before is the comparison shown beside Run, null for none.
	Before      *otherComparison `json:"before"`
	Overflow    *overflowData    `json:"overflow"`
	Headroom    *headroomData    `json:"headroom"`
	Checkpoints *checkpointData  `json:"checkpoints"`
	Determinism *determinismData `json:"determinism"`
	Perf        *performance     `json:"perf"`
	// Check is a check, whose rows are operators; null for none.
	Check *runPage `json:"check"`

	checked *check.Report
}

// runPage is the head and the rows of a comparison or a check.
type runPage struct {
	Tool      string   `json:"tool"`
	Args      []string `json:"args"`
	Profile   string   `json:"profile"`
	NaNPolicy string   `json:"nan"`
	TolMode   string   `json:"tol"`
	Verdict   string   `json:"verdict"`
	Why       text     `json:"why"`
	Standard  string   `json:"standard"`
	Effective string   `json:"effective"`
	Headline  text     `json:"headline"`
	Order     text     `json:"order"`
	Graph     text     `json:"graph"`
	// Round is the round shown first.
	Round     int             `json:"round"`
	Rounds    []round         `json:"rounds"`
	Coverage  record.Coverage `json:"coverage"`
	Reference int             `json:"reference"`
	Compared  int             `json:"compared"`
	Baseline  *baseline       `json:"baseline"`
	// Ranks holds the findings between ranks, null for none.
	Ranks    *rankFindings `json:"ranks,omitempty"`
	Warnings []text        `json:"warnings"`
	Facts    []factJSON    `json:"facts,omitempty"`
	// HasStatistics: some rows have only statistics or digests.
	HasStatistics bool `json:"few,omitempty"`
	// Dumps describes the files of the reference and of the NPU.
	Dumps       [2]record.Dumps `json:"dumps"`
	Interrupted bool            `json:"interrupted"`
	FailedFast  bool            `json:"failed_fast"`
	Statuses    []record.Status `json:"statuses"`
	Codes       []finding.Code  `json:"codes"`
	Metrics     []string        `json:"metrics"` // names of the metrics in details
	Cols        columns         `json:"cols"`
	// Drawn counts the rows with pictures, NoPicture the pictures omitted because of the size of the page,
	// and NoDetail the rows without any detail for the same reason.
	Drawn     int `json:"drawn"`
	NoPicture int `json:"no_picture"`
	NoDetail  int `json:"no_detail"`
	// Share is the judged share of the bytes of a check, Meanings explains its codes, and Problems are
	// the files that could not be read.
	Share    *float64              `json:"share,omitempty"`
	Meanings map[finding.Code]text `json:"meanings,omitempty"`
	Problems []overflow.Problem    `json:"problems,omitempty"`
}

// factJSON is a Fact of a Comparison.
type factJSON struct {
	Label text   `json:"label"`
	Lines []text `json:"lines"`
}

// round is a round of the run.
type round struct {
	Name   string                  `json:"name"`
	At     record.RoundCoordinates `json:"at"`
	Status record.Status           `json:"status"`
	Known  bool                    `json:"known"` // execution order known
	Find   landmarks               `json:"find"`
}

// landmarks locates the errors of a round by row indexes, -1 for none.
type landmarks struct {
	Bad        int        `json:"bad"`
	Damaged    int        `json:"damaged"`
	Good       int        `json:"good"`
	NaN        int        `json:"nan"`
	Overflow   int        `json:"overflow"`
	Jump       int        `json:"jump"`
	Factor     numberList `json:"factor"`
	Suspects   []int      `json:"suspects"`
	Origins    []int      `json:"origins"`
	Inherited  int        `json:"inherited"`
	OutputsBad bool       `json:"outputs_bad"`
}

// baseline is the comparison with an earlier run; the column Change has the rows.
type baseline struct {
	File    string   `json:"file"`
	Missing []string `json:"missing"`
	Updated bool     `json:"updated"`
}

// dataOf makes the head and the columns of a comparison.
func dataOf(c *Comparison) *runPage {
	r := c.Report
	d := &runPage{
		Tool: r.Tool, Args: append([]string{}, r.Args...), Profile: r.Profile, NaNPolicy: r.NaNPolicy, TolMode: r.TolMode, Verdict: r.Verdict, Why: textOf(r.VerdictWhy),
		Standard: r.Standard, Effective: r.Effective, Headline: text(c.Headline), Order: textOf(r.OrderSource), Graph: textOf(r.GraphSource),
		Coverage: r.Coverage, Reference: r.Coverage.Reference, Compared: r.Coverage.Compared,
		HasStatistics: c.rows.hasStatistics,
		Interrupted:   r.Interrupted, FailedFast: r.FailedFast, Statuses: record.Statuses(),
	}
	for i := range metrics.Table {
		d.Metrics = append(d.Metrics, metrics.Table[i].Name)
	}
	for _, w := range r.Warnings {
		d.Warnings = append(d.Warnings, textOf(w))
	}
	for _, f := range c.Facts {
		x := factJSON{Label: text(f.Label)}
		for _, line := range f.Lines {
			x.Lines = append(x.Lines, text(line))
		}
		d.Facts = append(d.Facts, x)
	}
	if r.LeftOut > 0 {
		d.Warnings = append(d.Warnings, textOf(lang.Say("not shown: %s of %d, which passed (--rows all shows them)", lang.CountText(r.LeftOut, "row"), r.Total())))
	}
	if l := r.Listed; l != nil {
		d.Dumps = [2]record.Dumps{dumpsOf(l.Ref), dumpsOf(l.NPU)}
	}
	if b := r.Baseline; b != nil {
		d.Baseline = &baseline{b.File, b.Missing, b.Updated}
	}
	d.Ranks, _ = readRankFindings(r.Ranks) // ranks of another version are not shown
	d.Rounds, d.Round = roundsOf(r)
	d.Cols, d.Codes = c.rows.columns(c), c.rows.listed
	return d
}

// dumpsOf describes the files in a side's rounds that the other side has too.
func dumpsOf(rounds []record.ListedRound) (all record.Dumps) {
	for i := range rounds {
		if rounds[i].Paired {
			all.Add(&rounds[i].Dumps)
		}
	}
	return all
}

// roundsOf lists the rounds, and returns the index of the first one to show. A report without
// rounds gets one.
func roundsOf(r *record.Report) ([]round, int) {
	if len(r.Rounds) == 0 {
		all := record.Round{Counts: r.Counts}
		return []round{{Status: all.Status(), Known: true, Find: landmarksOf(r, &r.Findings, r.Origins)}}, 0
	}
	var all []round
	for i := range r.Rounds {
		x := &r.Rounds[i]
		all = append(all, round{x.Name, x.RoundCoordinates, x.Status(), x.OrderKnown, landmarksOf(r, &x.Findings, x.Findings.Origins)})
	}
	return all, max(0, r.HeadlineRound())
}

func landmarksOf(r *record.Report, f *record.Findings, origins []int) landmarks {
	within := func(i int) int {
		if i < 0 || i >= r.Len() {
			return -1
		}
		return i
	}
	return landmarks{
		Bad: within(f.FirstBad), Damaged: within(f.FirstDamaged), Good: within(f.LastGood), NaN: within(f.FirstNaN), Overflow: within(f.FirstOverflow),
		Jump: within(f.JumpOfOrigin()), Factor: numberList{metrics.NumberIf(f.Jump, f.JumpOfOrigin() >= 0)}, Suspects: append([]int{}, f.Suspects...), Origins: origins,
		Inherited: max(0, len(f.Chain)-1), OutputsBad: f.OutputsBad,
	}
}

// text is a text of the page; in JSON a string if both languages agree.
type text lang.Text

func textOf(s lang.Sentence) text { return text(s.Text()) }

// number is a number that may be undefined.
type number = metrics.Metric

// numberList is a list of numbers with four digits; in JSON null if undefined, and "nan", "inf" and
// "-inf".
type numberList []number

// shownDigits is the number of digits of a number in the page.
const shownDigits = 4

// MarshalJSON implements json.Marshaler.
func (n numberList) MarshalJSON() ([]byte, error) {
	b := make([]byte, 0, 8*len(n)+2)
	b = append(b, '[')
	for i, x := range n {
		if i > 0 {
			b = append(b, ',')
		}
		b = appendNumber(b, x)
	}
	return append(b, ']'), nil
}

func appendNumber(b []byte, x number) []byte {
	switch {
	case !x.IsDefined():
		return append(b, "null"...)
	case math.IsNaN(x.Value()):
		return append(b, `"nan"`...)
	case math.IsInf(x.Value(), 1):
		return append(b, `"inf"`...)
	case math.IsInf(x.Value(), -1):
		return append(b, `"-inf"`...)
	}
	return strconv.AppendFloat(b, x.Value(), 'g', shownDigits, 64)
}

// numbersByName holds defined numbers by name.
type numbersByName struct {
	names  []string
	values numberList
}

func (n *numbersByName) add(name string, x number) {
	if x.IsDefined() {
		n.names, n.values = append(n.names, name), append(n.values, x)
	}
}

// MarshalJSON implements json.Marshaler.
func (n numbersByName) MarshalJSON() ([]byte, error) {
	b := []byte{'{'}
	for i, name := range n.names {
		if i > 0 {
			b = append(b, ',')
		}
		b = append(strconv.AppendQuote(b, name), ':')
		b = appendNumber(b, n.values[i])
	}
	return append(b, '}'), nil
}

// MarshalJSON implements json.Marshaler.
func (t text) MarshalJSON() ([]byte, error) {
	both := lang.Text(t).Both()
	if both.EN == both.ZH {
		return json.Marshal(both.EN)
	}
	return json.Marshal(both)
}
