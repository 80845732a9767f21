package page

import (
	"cmp"
	"encoding/json"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/check"
	"dumptool/internal/checkpoint"
	"dumptool/internal/compare/determinism"
	"dumptool/internal/compare/record"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
	"dumptool/internal/perf"
)

// Limits of a page: the rows of a document, and the records and places named in a group of overflow
// records.
const (
	maxOthers = 1000
	maxNamed  = 20
	maxPlaces = 2000
)

// overflowData is the part of an overflow analyze or scan document that the page shows.
type overflowData struct {
	Schema   string             `json:"schema"`
	Groups   []overflowGroup    `json:"groups"`
	Problems []overflow.Problem `json:"problems"`
	// Total counts the records, Left the omitted groups.
	Total int `json:"total"`
	Left  int `json:"left"`
}

// overflowGroup is the records of an operator with the same causes and verdict.
type overflowGroup struct {
	First overflow.Record `json:"first"`
	Count int             `json:"count"`
	// FirstOf lists the ranks whose first record is in the group.
	FirstOf []string `json:"first_of,omitempty"`
	// Files lists the first records, Places counts the records by rank and step.
	Files  []overflowFile  `json:"files"`
	Places []overflowPlace `json:"places"`
}

type overflowFile struct {
	File string `json:"file"`
	Rank string `json:"rank,omitempty"`
	Step string `json:"step,omitempty"`
	Time string `json:"time,omitempty"`
}

type overflowPlace struct {
	Rank  string `json:"rank"`
	Step  string `json:"step"`
	Count int    `json:"n"`
}

// Documents holds the texts of documents of other commands by their kind.
type Documents map[string]json.RawMessage

// Kinds maps the schemas that a page shows to the kinds of documents. A page has one document of a kind.
var Kinds = map[string]string{
	overflow.Schema: "overflow", overflow.ScanSchema: "overflow", overflow.HeadroomSchema: "headroom", checkpoint.Schema: "checkpoints",
	determinism.Schema: "determinism", perf.Schema: "perf", check.Schema: "check", check.EarlierSchema: "check",
}

// Check reports whether the page can show the documents.
func (d Documents) Check() error { return new(data).read(d) }

// read reads the documents of other commands.
func (d *data) read(texts Documents) error {
	var errs [6]error
	d.Overflow, errs[0] = overflowOf(texts)
	d.Headroom, errs[1] = headroomOf(texts)
	d.Checkpoints, errs[2] = checkpointsOf(texts)
	d.Determinism, errs[3] = determinismOf(texts)
	d.checked, errs[4] = documentOf[check.Report](texts, "check")
	d.Perf, errs[5] = performanceOf(texts)
	return cmp.Or(errs[:]...)
}

// documentOf decodes the document of a kind, nil if there is none.
func documentOf[T any](texts Documents, kind string) (*T, error) {
	text := texts[kind]
	if text == nil {
		return nil, nil
	}
	doc := new(T)
	if err := jsonpos.ReaderOf(text).Decode(doc); err != nil {
		return nil, lang.Errorf("%s document: %w", kind, err)
	}
	return doc, nil
}

// firstRows returns the first rows, at most maxOthers, and the number of the others.
func firstRows[R any](rows []R) ([]R, int) {
	n := min(len(rows), maxOthers)
	return rows[:n], len(rows) - n
}

// overflowOf reads a document of overflow analyze or scan. Scanned operators become records.
func overflowOf(texts Documents) (*overflowData, error) {
	doc, err := documentOf[struct {
		Schema   string             `json:"schema"`
		Records  []overflow.Record  `json:"records"`
		Problems []overflow.Problem `json:"problems"`
		Rows     []overflow.ScanRow `json:"rows"`
	}](texts, "overflow")
	if doc == nil {
		return nil, err
	}
	for i := range doc.Rows {
		r := &doc.Rows[i]
		doc.Records = append(doc.Records, overflow.Record{Occurrence: r.Occurrence, Op: &overflow.Operator{Type: r.OpType, Name: r.OpName, Script: r.Script}, Verdict: r.Verdict, Reason: r.Reason})
	}
	o := &overflowData{Schema: doc.Schema, Total: len(doc.Records)}
	o.Groups, o.Left = firstRows(groupsOf(doc.Records))
	o.Problems, _ = firstRows(doc.Problems)
	return o, nil
}

// groupsOf groups records by operator, causes and verdict, in order of first occurrence.
func groupsOf(records []overflow.Record) []overflowGroup {
	groups, at, ranks := []overflowGroup{}, map[string]int{}, map[string]bool{}
	places := map[[3]string]int{}
	for i := range records {
		r := &records[i]
		key := groupKey(r)
		k, ok := at[key]
		if !ok {
			k = len(groups)
			at[key] = k
			groups = append(groups, overflowGroup{First: *r})
		}
		g := &groups[k]
		g.Count++
		if !ranks[r.Rank] {
			ranks[r.Rank] = true
			g.FirstOf = append(g.FirstOf, r.Rank)
		}
		if len(g.Files) < maxNamed {
			g.Files = append(g.Files, overflowFile{r.File, r.Rank, r.Step, r.Time})
		}
		place := [3]string{key, r.Rank, r.Step}
		if _, ok := places[place]; !ok && len(g.Places) < maxPlaces {
			places[place] = len(g.Places)
			g.Places = append(g.Places, overflowPlace{Rank: r.Rank, Step: r.Step})
		}
		if p, ok := places[place]; ok {
			g.Places[p].Count++
		}
	}
	return groups
}

// groupKey returns the key of a record's group: the verdict, the operator or else the task, and the
// causes.
func groupKey(r *overflow.Record) string {
	words := []string{string(r.Verdict)}
	if r.Op != nil {
		words = append(words, r.Op.Type, r.Op.Name)
	} else {
		words = append(words, r.Unit.String(), strconv.FormatUint(r.StreamID, 10), strconv.FormatUint(r.TaskID, 10))
	}
	for _, c := range r.Causes {
		words = append(words, c.Mask, c.EN)
	}
	return strings.Join(words, "\n")
}

// headroomData is a headroom document. Left counts the omitted rows.
type headroomData struct {
	overflow.HeadroomReport
	Left int `json:"left"`
}

// headroomOf reads a document of overflow scan --headroom.
func headroomOf(texts Documents) (*headroomData, error) {
	h, err := documentOf[headroomData](texts, "headroom")
	if h == nil {
		return nil, err
	}
	h.Rows, h.Left = firstRows(h.Rows)
	h.Problems, _ = firstRows(h.Problems)
	return h, nil
}

// checkpointData is a compare checkpoints document. Left counts the omitted rows.
type checkpointData struct {
	checkpoint.Report
	Left int `json:"left"`
}

// checkpointsOf reads a document of compare checkpoints. The worst rows come first.
func checkpointsOf(texts Documents) (*checkpointData, error) {
	c, err := documentOf[checkpointData](texts, "checkpoints")
	if c == nil {
		return nil, err
	}
	order := checkpoint.Statuses()
	slices.SortStableFunc(c.Rows, func(a, b checkpoint.Row) int { return slices.Index(order, a.Status) - slices.Index(order, b.Status) })
	c.Rows, c.Left = firstRows(c.Rows)
	c.Problems, _ = firstRows(c.Problems)
	return c, nil
}

// determinismData is the part of a compare determinism document that the page shows: tensors that
// differ, or could not be compared.
type determinismData struct {
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
	Cause    string           `json:"cause,omitempty"`
	Note     string           `json:"note,omitempty"`
	NoteZH   string           `json:"note_zh,omitempty"`
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
func determinismOf(texts Documents) (*determinismData, error) {
	d, err := documentOf[determinismData](texts, "determinism")
	if d == nil {
		return nil, err
	}
	d.Rows, d.Left = firstRows(slices.DeleteFunc(d.Rows, func(r determinismRow) bool { return r.Status == string(record.Pass) }))
	return d, nil
}

// performance is the part of a perf document that the page shows. Unknown counters are null.
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
	// Left counts the omitted operators.
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
func performanceOf(texts Documents) (*performance, error) {
	p, err := documentOf[performance](texts, "perf")
	if p == nil {
		return nil, err
	}
	p.Operators, p.Left = firstRows(p.Operators)
	p.Problems, _ = firstRows(p.Problems)
	return p, nil
}
