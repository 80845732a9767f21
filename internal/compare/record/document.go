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
	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/tensor"
)

// Schema names the form of compare.json. Documents of EarlierSchema, which have keys more, are
// read too.
const (
	Schema        = "dumptool/compare/2"
	EarlierSchema = "dumptool/compare/1"
)

// document is a report with what compare.json has in another form. It holds no clock.
type document struct {
	*Report
	schema schema
	// Rows are named as op:output:k.
	origins  []originJSON
	baseline *baselineRow
	// chinese has the sentences of the document in Chinese, by those in English, where they
	// are others.
	chinese map[string]string
	// shown is set where keys of rows that no report shows are passed over.
	shown bool
}

// schema is that of compare.json.
type schema string

// UnmarshalJSON implements json.Unmarshaler.
func (s *schema) UnmarshalJSON(data []byte) error {
	if text := string(data); text != `"`+Schema+`"` && text != `"`+EarlierSchema+`"` {
		return lang.Errorf("schema is %s, want %q", excerpt(data), Schema)
	}
	*s = Schema
	return nil
}

// slim is a key of EarlierSchema. Where it is true the rows lack keys, and the document is
// refused.
type slim bool

// UnmarshalJSON implements json.Unmarshaler.
func (s *slim) UnmarshalJSON(data []byte) error {
	if *s = string(data) == "true"; *s {
		return lang.Errorf("the rows lack keys (\"slim\": true): an older version of dumptool wrote them; run dumptool compare again")
	}
	return nil
}

// members are the keys of compare.json. Rows come last, so that they can be written one by
// one.
func (d *document) members() object {
	r, c := d.Report, &d.Coverage
	return object{
		{"schema", &d.schema}, {"tool", &r.Tool}, {"args", &r.Args}, {"profile", &r.Profile}, {"nan_policy", &r.NaNPolicy}, {"tol_mode", &r.TolMode},
		{"order_source", &r.OrderSource}, {"graph_source", &r.GraphSource}, {"summary", d.summary()}, {"findings", r.Findings.members()},
		{"rounds,omitempty", roundList{r}}, {"rounds_listed,omitempty", &r.Listed},
		{"coverage", object{{"ref_only", &c.RefOnly}, {"npu_only", &c.NPUOnly}, {"skipped", &c.Skipped}, {"unread", &c.Unread},
			{"superseded", &c.Superseded}, {"rounds,omitempty", &c.Rounds}, {"unused_op_config", &c.Unused}}},
		{"baseline", &d.baseline}, {"warnings", &r.Warnings}, {"interrupted", &r.Interrupted}, {"unfetched,omitempty", &r.Origin.Unfetched}, {"failed_fast", &r.FailedFast},
		{"files,omitempty", &r.Files}, {"left_out,omitempty", &r.LeftOut}, {"shard,omitempty", &r.Shard}, {"listing,omitempty", &r.Listing},
		{"options,omitempty", &r.Options}, {"run_id,omitempty", &r.RunID}, {"zh,omitempty", &d.chinese}, {"slim,omitempty", new(slim)},
		{"ranks,omitempty", &r.Ranks}, {"rows", rowList{d}},
	}
}

// summary is the result at a glance: the rows by status, the verdict, what there is to know
// about it, and the findings, null where there is no such row. Names and counts follow from
// the rows and are not read.
func (d *document) summary() object {
	r, f := d.Report, &d.Findings
	ratio := r.Coverage.Ratio()
	bad, damaged, good, suspects := r.firstBad(), r.found(f.FirstDamaged), r.found(f.LastGood), r.names(f.Suspects)
	nan, overflow, jump, worst := r.found(f.FirstNaN), r.found(f.FirstOverflow), r.found(f.LargestJump), r.names(r.Worst(worstShown))
	return append(countsOf(r.Counts).members(), object{
		{"verdict_mode", &r.Verdict}, {"verdict_why", &r.VerdictWhy}, {"headline", &r.Headline},
		{"standard", (*optional)(&r.Standard)}, {"effective_type", (*optional)(&r.Effective)}, {"origins", &d.origins},
		{"inputs,omitempty", &r.Meaning.Inputs}, {"power,omitempty", &r.Meaning.Power}, {"notes,omitempty", &r.Meaning.Notes},
		{"proof", &r.Meaning.Proof}, {"no_numbers,omitempty", &r.Meaning.NoNumbers},
		{"operators,omitempty", &r.Meaning.Operators}, {"started_alike,omitempty", &r.Meaning.StartedAlike},
		{"start,omitempty", &r.Meaning.Start}, {"no_verdict,omitempty", &r.Meaning.NoVerdict},
		{"reference", &r.Coverage.Reference}, {"compared", &r.Coverage.Compared}, {"coverage", &ratio},
		{"first_bad", &bad}, {"first_damaged", &damaged}, {"last_good", &good}, {"suspects", &suspects},
		{"first_nan", &nan}, {"first_overflow", &overflow}, {"largest_jump", &jump}, {"jump", (*jumpOf)(f)},
		{"outputs_bad", &f.OutputsBad}, {"worst", &worst},
	}...)
}

// baselineRow is the comparison with a baseline, rows named as op:output:k.
type baselineRow struct {
	File    string   `json:"file"`
	New     []string `json:"new"`
	Known   []string `json:"known"`
	Worse   []string `json:"worse"`
	Fixed   []string `json:"fixed"`
	Missing []string `json:"missing"`
	Updated bool     `json:"updated"`
}

// worstShown is the number of worst rows in a summary.
const worstShown = 10

// documentOf is the document of a report.
func documentOf(r *Report) *document {
	r.Origin.Unfetched = r.Unfetched()
	d := &document{Report: r, schema: Schema, origins: r.originsJSON(), chinese: r.chinese()}
	if b := r.Baseline; b != nil {
		d.baseline = &baselineRow{File: b.File, New: r.names(b.New), Known: r.names(b.Known), Worse: r.names(b.Worse),
			Fixed: r.names(b.Fixed), Missing: append([]string{}, b.Missing...), Updated: b.Updated}
	}
	return d
}

// finish completes a report that was read with its rows.
func (d *document) finish() error {
	r := d.Report
	switch {
	case d.schema == "":
		return lang.Errorf("key %q is missing: not a document of %s", "schema", Schema)
	case r.Rows == nil:
		return lang.Errorf("key %q is missing: not a document of %s", "rows", Schema)
	case r.LeftOut < 0 || r.LeftOut > math.MaxInt-r.Len():
		return lang.Errorf("left_out is %d", r.LeftOut)
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
	names := make([]string, 0, len(d.origins))
	for _, o := range d.origins {
		names = append(names, o.Row)
	}
	if r.Origins = r.rowsOf(names); r.Verdict == "statistics" { // named by operators there
		r.Origins = r.Findings.Origins
	}
	r.Count()
	r.say(d.chinese)
	for i := range r.Rows {
		r.Rows[i].Key = keys[r.Rows[i].Round]
	}
	if b := d.baseline; b != nil {
		r.Baseline = &Baseline{File: b.File, New: r.rowsOf(b.New), Known: r.rowsOf(b.Known), Worse: r.rowsOf(b.Worse),
			Fixed: r.rowsOf(b.Fixed), Missing: b.Missing, Updated: b.Updated}
	}
	return nil
}

// rowsOf finds rows by name, in their order; a name that several rows have
// stands for the next of them.
func (r *Report) rowsOf(names []string) []int {
	if len(names) == 0 {
		return nil
	}
	at := map[string][]int{}
	for i, row := range r.All() {
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

// Read reads a compare.json. It accepts keys that it does not know, the earlier schema, and no
// other schema, types, words, or indexes of what is not there. Errors about the text are those of
// jsonpos, with path, line and column.
func Read(r io.Reader) (*Report, error) { return read(r, false) }

// ReadShown is Read without the keys of rows that no report shows.
func ReadShown(r io.Reader) (*Report, error) { return read(r, true) }

func read(r io.Reader, shown bool) (*Report, error) {
	in := jsonpos.NewReader(r, math.MaxInt64)
	d := &document{Report: &Report{Findings: NoFindings()}, shown: shown}
	err := d.members().read(in)
	if err == nil {
		err = in.End()
	}
	if err == nil {
		err = d.finish()
	}
	if err != nil {
		return nil, err
	}
	return d.Report, nil
}

// rowList are the rows of a document, which Write writes itself.
type rowList struct{ *document }

// MarshalJSON implements json.Marshaler.
func (l rowList) MarshalJSON() ([]byte, error) { return []byte("[]"), nil }

// unshown are the keys of rows that no report shows.
var unshown = []string{"noise", "patterns", "uneven", "second", "reads"}

// skipped is a value that is passed over.
type skipped struct{}

// read implements streamed.
func (skipped) read(in *jsonpos.Reader) error { return in.Skip() }

// read implements streamed. It checks each row at once, so that nonsense takes no more
// memory than it has bytes.
func (l rowList) read(in *jsonpos.Reader) error {
	l.Rows = []Row{}
	return in.Array(func(i int) error {
		f := newRow()
		members := f.members(true)
		for k := range members {
			if l.shown && slices.Contains(unshown, members[k].name()) {
				members[k].at = skipped{}
			}
		}
		err := members.read(in)
		if err == nil {
			err = f.finish()
		}
		if place := (*jsonpos.Error)(nil); err != nil && !errors.As(err, &place) {
			return lang.Errorf("row %d (%s): %w", i, excerpt([]byte(f.Op)), err)
		}
		if err != nil {
			return err
		}
		l.Rows = append(l.Rows, *f.Row)
		return nil
	})
}

// ReadHead reads what stands before the rows of a compare.json.
func ReadHead(r io.Reader) (*Report, error) {
	d := &document{Report: &Report{Findings: NoFindings()}}
	o := d.members()
	o[len(o)-1].at = noRows{}
	if err := o.read(jsonpos.NewReader(r, math.MaxInt64)); err != nil && !errors.Is(err, errRows) {
		return nil, err
	}
	d.say(d.chinese)
	return d.Report, nil
}

// errRows ends the reading of a document before its rows.
var errRows = lang.Errorf("the rows begin here")

// noRows is where the rows are that nobody reads.
type noRows struct{}

// read implements streamed.
func (noRows) read(*jsonpos.Reader) error { return errRows }

// ReadFiles reads the list of files of a compare.json without its rows, which
// follow it. ok is false for a document of EarlierSchema without the list, unless its rows are
// slim: other documents have a list unless it is empty.
func ReadFiles(r io.Reader) (files []File, ok bool, err error) {
	var text string
	var isSlim bool
	err = object{{"schema", &text}, {"files", &files}, {"slim", &isSlim}, {"rows", noRows{}}}.read(jsonpos.NewReader(r, math.MaxInt64))
	if err != nil && !errors.Is(err, errRows) {
		return nil, false, err
	}
	if text != Schema && text != EarlierSchema {
		return nil, false, lang.Errorf("not a document of %s", Schema)
	}
	return files, text == Schema || isSlim || files != nil, nil
}

// excerpt is the beginning of a text, for messages.
func excerpt(data []byte) string {
	const most = 40
	if len(data) > most {
		return string(data[:most]) + "..."
	}
	return string(data)
}

// check reports words that are unknown, and what no row can be without. Whether the numbers
// fit each other is not looked at.
func (f *rowForm) check() error {
	switch {
	case f.Op == "":
		return lang.Errorf("no op")
	case f.Output < 0:
		return lang.Errorf("output %d is negative", f.Output)
	case !slices.Contains(Statuses(), f.Status):
		return lang.Errorf("status %q is unknown", excerpt([]byte(f.Status)))
	case f.statusLimits != nil && !slices.Contains(Statuses(), *f.statusLimits):
		return lang.Errorf("status_limits %q is unknown", excerpt([]byte(*f.statusLimits)))
	case f.Evidence != nil && (f.Evidence.Level < NoOrigin || f.Evidence.Level > IsOrigin):
		return lang.Errorf("evidence of level %d, want %d to %d", f.Evidence.Level, NoOrigin, IsOrigin)
	case f.Standard != nil && !slices.Contains([]Status{Pass, Warn, Fail}, f.Standard.Status):
		return lang.Errorf("standard of the status %q, want PASS, WARN or FAIL", excerpt([]byte(f.Standard.Status)))
	case f.Self.check() != nil:
		return f.Self.check()
	case f.total == nil:
		return nil
	case *f.total < 0:
		return lang.Errorf("total %d is negative", *f.total)
	case f.errors == nil:
		return lang.Errorf("errors is missing")
	case f.errorsStrict == nil:
		return lang.Errorf("errors_strict is missing")
	}
	for _, s := range []tensor.Shape{f.shape, f.RefShape, f.NPUShape} {
		if _, ok := s.Count(); !ok {
			return lang.Errorf("shape %s has no number of elements", excerpt([]byte(s.String())))
		}
	}
	return nil
}

// checkLinks reports rows that name rows which are not there.
func (r *Report) checkLinks() error {
	for i := range r.Rows {
		for _, k := range r.Rows[i].links() {
			if k < 0 || k >= len(r.Rows) {
				return lang.Errorf("row %d names row %d of %d rows", i, k, len(r.Rows))
			}
		}
	}
	return nil
}

// links are the rows that a row names.
func (r *Row) links() []int {
	links := r.Inputs
	for _, reason := range r.Reasons {
		links = append(slices.Clip(links), reason.Facts.Rows()...)
	}
	return links
}

// rowsAtOnce is how many rows are made to text at a time.
const rowsAtOnce = 64

// Write writes compare.json: the head in lines for people, then a line for each
// row. Text of rows is made on all cores.
func (r *Report) Write(w io.Writer) error {
	const end = "]\n}"
	d := documentOf(r)
	head, err := marshal(d.members(), "  ")
	if err != nil {
		return err
	}
	out := bufio.NewWriter(w)
	out.Write(bytes.TrimSuffix(head, []byte(end))) // the rows come last
	type encoded struct {
		text []byte
		err  error
	}
	first := true
	chunks := slices.Collect(slices.Chunk(r.Rows, rowsAtOnce))
	err = batch.RunUntil(context.Background(), batch.Options{}, chunks, nil, func(_ context.Context, rows []Row) (e encoded) {
		e.text, e.err = r.appendRows(nil, rows)
		return e
	}, func(e encoded) error {
		if e.err == nil && first {
			e.text, first = e.text[1:], false // without the comma
		}
		if e.err == nil {
			_, e.err = out.Write(e.text)
		}
		return e.err
	})
	if err != nil {
		return err
	}
	if r.Len() > 0 {
		out.WriteString("\n  ")
	}
	out.WriteString(end + "\n")
	return out.Flush()
}

// appendRows appends some rows as they stand in the document, each behind a comma.
func (r *Report) appendRows(b []byte, rows []Row) (_ []byte, err error) {
	var text []byte // of a row
	form, part := newForm(), r.isPart()
	members := form.members(part)
	for i := range rows {
		b = append(b, ",\n    "...)
		if row := &rows[i]; part {
			form.fillWhole(row)
		} else {
			form.fill(row, row.Status != Pass)
		}
		if text, err = members.append(text[:0]); err != nil {
			return b, err
		}
		b = append(b, jsonpos.Visible(text)...)
	}
	return b, nil
}

// isPart reports whether more is made of the report: its document has all that is known.
func (r *Report) isPart() bool { return r.Shard != nil || r.Unfinished() }

// sentences calls f with every sentence of the report that JSON has in English alone.
func (r *Report) sentences(f func(*lang.Sentence)) {
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
		each(x.Pairing.Nothing)
	}
	for i := range r.Rows {
		row := &r.Rows[i]
		each(row.Notes)
		each(row.Warnings)
		f(&row.Undiagnosed)
		if row.Err != nil {
			text := lang.Error(row.Err)
			f(&text)
			row.Err = said(row.Err, text)
		}
	}
}

// said is the error, or one that says the same in both languages.
func said(err error, text lang.Sentence) error {
	t := text.Text()
	if own := lang.Error(err).Text(); own == t {
		return err
	}
	return lang.Problem{Sentence: lang.Sayf(t.EN, t.ZH)}
}

// chinese are the sentences that are others in Chinese, by those in English.
func (r *Report) chinese() map[string]string {
	all := map[string]string{}
	r.sentences(func(s *lang.Sentence) {
		if t := s.Text(); t.ZH != t.EN {
			all[t.EN] = t.ZH
		}
	})
	return all
}

// say gives the sentences their Chinese.
func (r *Report) say(chinese map[string]string) {
	if len(chinese) == 0 {
		return
	}
	r.sentences(func(s *lang.Sentence) {
		if zh, ok := chinese[s.String()]; ok {
			*s = lang.Sayf(s.String(), zh)
		}
	})
}
