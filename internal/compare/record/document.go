package record

import (
	"cmp"
	"fmt"
	"math"
)

// Schema names the form of compare.json.
const Schema = "dumptool/compare/1"

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
}

// schema is that of compare.json.
type schema string

// UnmarshalJSON implements json.Unmarshaler.
func (s *schema) UnmarshalJSON(data []byte) error {
	if string(data) != `"`+Schema+`"` {
		return fmt.Errorf("schema is %s, want %q", excerpt(data), Schema)
	}
	*s = Schema
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
		{"baseline", &d.baseline}, {"warnings", &r.Warnings}, {"interrupted", &r.Interrupted}, {"failed_fast", &r.FailedFast},
		{"files,omitempty", &r.Files}, {"left_out,omitempty", &r.LeftOut}, {"shard,omitempty", &r.Shard}, {"listing,omitempty", &r.Listing},
		{"options,omitempty", &r.Options}, {"run_id,omitempty", &r.RunID}, {"zh,omitempty", &d.chinese}, {"rows", rowList{r}},
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
		return fmt.Errorf("key %q is missing: not a document of %s", "schema", Schema)
	case r.Rows == nil:
		return fmt.Errorf("key %q is missing: not a document of %s", "rows", Schema)
	case r.LeftOut < 0 || r.LeftOut > math.MaxInt-len(r.Rows):
		return fmt.Errorf("left_out is %d", r.LeftOut)
	}
	checks := []error{r.Findings.check(len(r.Rows)), checkLinks(r.Rows)}
	keys := map[string]string{}
	for i := range r.Rounds {
		checks = append(checks, r.Rounds[i].Findings.check(len(r.Rows)), checkRows(r.Rounds[i].Origins, len(r.Rows)))
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
	for i := range r.Len() {
		name := r.Row(i).Name()
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
