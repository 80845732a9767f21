package record

import (
	"bufio"
	"bytes"
	"cmp"
	"context"
	"errors"
	"io"
	"math"
	"slices"

	"dumptool/internal/batch"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Schema names the form of compare.json. Documents of EarlierSchema, which have additional keys, can be read, too.
const (
	Schema        = "dumptool/compare/2"
	EarlierSchema = "dumptool/compare/1"
)

// plainReport is a Report without its methods.
type plainReport Report

// document is a report in compare.json: the report, and keys that follow from it or have another form there. Rows are
// not in it: Write appends the rows, read reads them one by one. A document contains no time.
type document struct {
	Schema  schema  `json:"schema"`
	Tool    *string `json:"tool"`
	Summary summary `json:"summary"`
	*plainReport
	Interrupted *bool         `json:"interrupted"`
	Findings    findingsJSON  `json:"findings"`
	Rounds      []roundJSON   `json:"rounds,omitempty"`
	Baseline    *baselineJSON `json:"baseline"`
	// Chinese maps the English sentences of the document to Chinese, without sentences that are the same in both
	// languages.
	Chinese map[string]string `json:"zh,omitempty"`
	Slim    earlierKey        `json:"slim,omitempty"`
}

// summary is an overview: the rows by status, the verdict and its meaning, and the findings as op:output:k, null
// without such a row. Names and counts follow from the rows and are not read.
type summary struct {
	counts
	Mode      *string        `json:"verdict_mode"`
	Why       *lang.Sentence `json:"verdict_why"`
	Headline  *string        `json:"headline"`
	Standard  *nullableText  `json:"standard"`
	Effective *nullableText  `json:"effective_type"`
	Origins   []originJSON   `json:"origins"`
	*Meaning
	Reference     *int           `json:"reference"`
	Compared      *int           `json:"compared"`
	Coverage      float64        `json:"coverage"`
	FirstBad      *string        `json:"first_bad"`
	FirstDamaged  *string        `json:"first_damaged"`
	LastGood      *string        `json:"last_good"`
	Suspects      []string       `json:"suspects"`
	FirstNaN      *string        `json:"first_nan"`
	FirstOverflow *string        `json:"first_overflow"`
	LargestJump   *string        `json:"largest_jump"`
	Jump          metrics.Metric `json:"jump"`
	OutputsBad    *bool          `json:"outputs_bad"`
	Worst         []string       `json:"worst"`
}

// schema is the schema of compare.json.
type schema string

// UnmarshalJSON implements json.Unmarshaler.
func (s *schema) UnmarshalJSON(data []byte) error {
	if text := string(data); text != `"`+Schema+`"` && text != `"`+EarlierSchema+`"` {
		return lang.Errorf("schema is %s, want %q", excerpt(data), Schema)
	}
	*s = Schema
	return nil
}

// earlierKey is a key of EarlierSchema. If it is true the rows lack keys, and the document is refused.
type earlierKey bool

// UnmarshalJSON implements json.Unmarshaler.
func (s *earlierKey) UnmarshalJSON(data []byte) error {
	if *s = string(data) == "true"; *s {
		return lang.Errorf("the rows lack keys (\"slim\": true): an older version of dumptool wrote them; run dumptool compare again")
	}
	return nil
}

// baselineJSON is a Baseline in compare.json, with rows by name.
type baselineJSON struct {
	*Baseline
	New   []string `json:"new"`
	Known []string `json:"known"`
	Worse []string `json:"worse"`
	Fixed []string `json:"fixed"`
}

// worstShown is the number of worst rows in a summary.
const worstShown = 10

// newDocument returns a document to read into: its pointers point into a report.
func newDocument(r *Report, f *Findings) *document {
	return &document{
		plainReport: (*plainReport)(r), Tool: &r.Tool, Interrupted: &r.Interrupted, Findings: f.forJSON(),
		Summary: summary{
			Mode: &r.Verdict, Why: &r.VerdictWhy, Headline: &r.Headline, Standard: (*nullableText)(&r.Standard), Effective: (*nullableText)(&r.Effective),
			Meaning: &r.Meaning, Reference: &r.Coverage.Reference, Compared: &r.Coverage.Compared, OutputsBad: &f.OutputsBad,
		},
	}
}

// documentOf returns the document to write for a report.
func documentOf(r *Report) *document {
	r.Origin.Unfetched = r.Unfetched()
	plain, f := *r, r.Findings.withLists()
	d := newDocument(&plain, f)
	d.Schema, d.Rounds, d.Chinese = Schema, r.roundsOf(), r.chineseSentences()
	c := &plain.Coverage
	for _, names := range []*[]string{&plain.Args, &c.RefOnly, &c.NPUOnly, &c.Skipped, &c.Unread, &c.Superseded, &c.Unused} {
		*names = copyList(*names)
	}
	plain.Warnings = copyList(r.Warnings)
	s := &d.Summary
	s.counts, s.Origins, s.Coverage, s.FirstBad = countsOf(r.Counts), r.originsJSON(), c.Ratio(), r.firstBad()
	s.FirstDamaged, s.LastGood, s.Suspects, s.FirstNaN = r.rowName(f.FirstDamaged), r.rowName(f.LastGood), r.rowNames(f.Suspects), r.rowName(f.FirstNaN)
	s.FirstOverflow, s.LargestJump, s.Jump, s.Worst = r.rowName(f.FirstOverflow), r.rowName(f.LargestJump), f.largestJump(), r.rowNames(r.WorstRows())
	if b := r.Baseline; b != nil {
		d.Baseline = &baselineJSON{&Baseline{File: b.File, Missing: copyList(b.Missing), Updated: b.Updated}, r.rowNames(b.New), r.rowNames(b.Known), r.rowNames(b.Worse), r.rowNames(b.Fixed)}
	}
	return d
}

// setRows completes a report that was read with its rows.
func (d *document) setRows() error {
	r := (*Report)(d.plainReport)
	switch {
	case d.Schema == "":
		return lang.Errorf("key %q is missing: not a document of %s", "schema", Schema)
	case r.Rows == nil:
		return lang.Errorf("key %q is missing: not a document of %s", "rows", Schema)
	case r.LeftOut < 0 || r.LeftOut > math.MaxInt-r.Len():
		return lang.Errorf("left_out is %d, not a number of rows", r.LeftOut)
	}
	rows := r.Len()
	checks := []error{r.Findings.check(rows), r.checkLinks()}
	keys := map[string]string{}
	for i := range r.Rounds {
		checks = append(checks, r.Rounds[i].Findings.check(rows), checkRows(r.Rounds[i].Origins, rows))
		keys[r.Rounds[i].Name] = r.Rounds[i].Pairing.Key
	}
	if err := cmp.Or(checks...); err != nil {
		return err
	}
	names := make([]string, 0, len(d.Summary.Origins))
	for _, o := range d.Summary.Origins {
		names = append(names, o.Row)
	}
	if r.Origins = r.rowsOf(names); r.Verdict == "statistics" { // there the origins have the names of operators
		r.Origins = r.Findings.Origins
	}
	r.Count()
	r.setChinese(d.Chinese)
	for i := range r.Rows {
		r.Rows[i].Key = keys[r.Rows[i].Round]
	}
	if b := d.Baseline; b != nil {
		r.Baseline = b.Baseline
		r.Baseline.New, r.Baseline.Known, r.Baseline.Worse, r.Baseline.Fixed = r.rowsOf(b.New), r.rowsOf(b.Known), r.rowsOf(b.Worse), r.rowsOf(b.Fixed)
	}
	return nil
}

// rowsOf finds rows by name, in the order of the names. If several rows have a name, each occurrence of the name
// stands for the next row.
func (r *Report) rowsOf(names []string) []int {
	if len(names) == 0 {
		return nil
	}
	at := map[string][]int{}
	for i, row := range r.AllRows() {
		name := row.Name()
		at[name] = append(at[name], i)
	}
	var rows []int
	for _, name := range names {
		if same := at[name]; len(same) > 0 {
			rows, at[name] = append(rows, same[0]), same[1:]
		}
	}
	return rows
}

// Read reads a compare.json. It accepts unknown keys and the earlier schema, but no other schema, types or words, and
// no indexes of rows that do not exist. Errors about the text are jsonpos errors, with path, line and column.
func Read(r io.Reader) (*Report, error) { return read(r, false) }

// ReadShown is Read without the keys of rows that no report shows.
func ReadShown(r io.Reader) (*Report, error) { return read(r, true) }

func read(r io.Reader, shown bool) (*Report, error) {
	in := jsonpos.NewReader(r, math.MaxInt64)
	rep := &Report{Findings: NoFindings()}
	d, err := rep.read(in, func() error { return rep.readRows(in, shown) })
	if err == nil {
		err = in.End()
	}
	if err == nil {
		err = d.setRows()
	}
	if err != nil {
		return nil, err
	}
	return rep, nil
}

// read reads a document; the function rows reads its rows.
func (r *Report) read(in *jsonpos.Reader, rows func() error) (*document, error) {
	d := newDocument(r, &r.Findings)
	err := in.Struct(d, map[string]func() error{"rounds": func() error { return r.readRounds(in) }, "rows": rows})
	r.Findings.Jump = d.Summary.Jump.Value()
	return d, err
}

// unshownKeys are the keys of rows that no report shows.
var unshownKeys = []string{"noise", "patterns", "uneven", "second", "reads"}

// readRows reads the rows of a document. It checks each row at once, so that an invalid document takes no more memory
// than its size.
func (r *Report) readRows(in *jsonpos.Reader, shown bool) error {
	r.Rows = []Row{}
	var f *rowJSON
	own := map[string]func() error{"metrics": func() error { return f.Metrics.read(in) }, "classes": func() error { return f.Classes.read(in) }}
	for _, key := range unshownKeys {
		if shown {
			own[key] = in.Skip
		}
	}
	return in.Array(func(i int) error {
		f = &rowJSON{plainRow: new(plainRow)}
		err := in.Struct(f, own)
		var row Row
		if err == nil {
			row, err = f.toRow()
		}
		if place := (*jsonpos.Error)(nil); err != nil && !errors.As(err, &place) {
			return lang.Errorf("row %d (%s): %w", i, excerpt([]byte(f.Op)), err)
		}
		r.Rows = append(r.Rows, row)
		return err
	})
}

// ReadHead reads the keys before the rows of a compare.json.
func ReadHead(r io.Reader) (*Report, error) {
	rep := &Report{Findings: NoFindings()}
	d, err := rep.read(jsonpos.NewReader(r, math.MaxInt64), stopAtRows)
	if err != nil && !errors.Is(err, errRows) {
		return nil, err
	}
	rep.setChinese(d.Chinese)
	return rep, nil
}

// errRows ends the reading of a document before its rows.
var errRows = lang.Errorf("the rows begin here")

func stopAtRows() error { return errRows }

// ReadFiles reads the list of files of a compare.json without its rows, which
// follow it. ok is false for a document of EarlierSchema without the list, unless its rows are
// slim: other documents have a list unless it is empty.
func ReadFiles(r io.Reader) (files []File, ok bool, err error) {
	var head struct {
		Schema string `json:"schema"`
		Files  []File `json:"files"`
		Slim   bool   `json:"slim"`
	}
	err = jsonpos.NewReader(r, math.MaxInt64).Struct(&head, map[string]func() error{"rows": stopAtRows})
	if err != nil && !errors.Is(err, errRows) {
		return nil, false, err
	}
	if head.Schema != Schema && head.Schema != EarlierSchema {
		return nil, false, lang.Errorf("not a document of %s", Schema)
	}
	return head.Files, head.Schema == Schema || head.Slim || head.Files != nil, nil
}

// excerpt returns the beginning of a text, for messages.
func excerpt(data []byte) string {
	const most = 40
	if len(data) > most {
		return string(data[:most]) + "..."
	}
	return string(data)
}

// check reports unknown words, and missing keys that every row needs. It does not check whether the numbers fit each
// other.
func (f *rowJSON) check() error {
	switch {
	case f.Op == "":
		return lang.Errorf("no op")
	case f.Output < 0:
		return lang.Errorf("output %d is negative", f.Output)
	case !slices.Contains(Statuses(), f.Status):
		return lang.Errorf("status %q is unknown", excerpt([]byte(f.Status)))
	case f.StatusLimits != nil && !slices.Contains(Statuses(), *f.StatusLimits):
		return lang.Errorf("status_limits %q is unknown", excerpt([]byte(*f.StatusLimits)))
	case f.Evidence != nil && (f.Evidence.Level < NoOrigin || f.Evidence.Level > IsOrigin):
		return lang.Errorf("evidence of level %d, want %d to %d", f.Evidence.Level, NoOrigin, IsOrigin)
	case f.Standard != nil && !slices.Contains([]Status{Pass, Warn, Fail}, f.Standard.Status):
		return lang.Errorf("standard of the status %q, want PASS, WARN or FAIL", excerpt([]byte(f.Standard.Status)))
	case f.Self.check() != nil:
		return f.Self.check()
	case f.Total == nil:
		return nil
	case *f.Total < 0:
		return lang.Errorf("total %d is negative", *f.Total)
	case f.Errors == nil:
		return lang.Errorf("errors is missing")
	case f.ErrorsStrict == nil:
		return lang.Errorf("errors_strict is missing")
	}
	for _, s := range []tensor.Shape{f.Shape, f.RefShape, f.NPUShape} {
		if _, ok := s.Count(); !ok {
			return lang.Errorf("shape %s has no number of elements", excerpt([]byte(s.String())))
		}
	}
	return nil
}

// checkLinks reports rows that name rows which do not exist.
func (r *Report) checkLinks() error {
	for i := range r.Rows {
		for _, k := range r.Rows[i].linkedRows() {
			if k < 0 || k >= len(r.Rows) {
				return lang.Errorf("row %d names row %d of %d rows", i, k, len(r.Rows))
			}
		}
	}
	return nil
}

// linkedRows returns the rows that a row names.
func (r *Row) linkedRows() []int {
	links := r.Inputs
	for _, reason := range r.Reasons {
		links = append(slices.Clip(links), reason.Facts.Rows()...)
	}
	return links
}

// rowsAtOnce is the number of rows that are encoded together.
const rowsAtOnce = 64

// Write writes compare.json: the head with indentation, then a line for each row. Rows are encoded on all cores.
func (r *Report) Write(w io.Writer) error {
	head, err := marshal(documentOf(r), "  ")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(head, []byte("\n}")))
	out.WriteString(",\n  \"rows\": [")
	between := "\n    "
	type encoded struct {
		lines [][]byte
		err   error
	}
	chunks, part := slices.Collect(slices.Chunk(r.Rows, rowsAtOnce)), r.hasDetails()
	err = batch.RunUntil(context.Background(), batch.Options{}, chunks, nil, func(_ context.Context, rows []Row) (e encoded) {
		for i := range rows {
			line, err := rows[i].marshalLine(part)
			e.lines, e.err = append(e.lines, line), cmp.Or(e.err, err)
		}
		return e
	}, func(e encoded) error {
		for _, line := range e.lines {
			out.WriteString(between)
			if _, err := out.Write(line); err != nil {
				return err
			}
			between = ",\n    "
		}
		return e.err
	})
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString("]\n}\n")
	return out.Flush()
}

// marshalLine returns the row as JSON. part: the document is a part of a run, and has all details.
func (r *Row) marshalLine(part bool) ([]byte, error) {
	if part {
		return marshal(detailedRow(r), "")
	}
	return r.MarshalJSON()
}

// hasDetails reports whether a merge or another run reads the report: its document then has all details.
func (r *Report) hasDetails() bool { return r.Shard != nil || r.IsUnfinished() }

// eachSentence calls f with every sentence of the report that JSON holds only in English.
func (r *Report) eachSentence(f func(*lang.Sentence)) {
	each := func(all []lang.Sentence) {
		for i := range all {
			f(&all[i])
		}
	}
	f(&r.VerdictWhy)
	f(&r.OrderSource)
	f(&r.GraphSource)
	each(r.Warnings)
	each(r.Meaning.Notes)
	f(&r.Meaning.NoVerdict)
	if l := r.Listed; l != nil {
		each(l.Warnings)
		each(l.OfOptions)
		each(l.Stale)
	}
	for i := range r.Rounds {
		x := &r.Rounds[i]
		f(&x.OrderSource)
		f(&x.GraphSource)
		f(&x.NoVerdict)
		f(&x.Pairing.FirstDiffer)
		each(x.Pairing.Rejected)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		each(row.Notes)
		each(row.Warnings)
		f(&row.Undiagnosed)
		if row.Err != nil {
			text := lang.Error(row.Err)
			f(&text)
			row.Err = inBothLanguages(row.Err, text)
		}
	}
}

// inBothLanguages returns an error with the message of err in both languages.
func inBothLanguages(err error, text lang.Sentence) error {
	t := text.Text()
	if own := lang.Error(err).Text(); own == t {
		return err
	}
	return lang.Problem{Sentence: lang.Say("%s", t)}
}

// chineseSentences maps English sentences of the report to their Chinese, if both differ.
func (r *Report) chineseSentences() map[string]string {
	all := map[string]string{}
	r.eachSentence(func(s *lang.Sentence) {
		if t := s.Text(); t.Chinese() != t.String() {
			all[t.String()] = t.Chinese()
		}
	})
	return all
}

// setChinese gives the sentences of the report their Chinese.
func (r *Report) setChinese(chinese map[string]string) {
	if len(chinese) == 0 {
		return
	}
	r.eachSentence(func(s *lang.Sentence) {
		if zh, ok := chinese[s.String()]; ok {
			*s = lang.Say("%s", lang.Text{EN: s.String(), ZH: zh})
		}
	})
}
