package compare

import (
	"bufio"
	"bytes"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"hash"
	"io"
	"slices"
	"strings"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/metrics"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// PlanFile is a plan file of which the head was read.
type PlanFile struct {
	planLines
	head planHead
	file store.Source
}

// OpenPlan opens a plan file and reads its head. Close it. Errors name it.
func OpenPlan(path string) (*PlanFile, error) {
	f, err := store.Open(path)
	if err != nil {
		return nil, safefile.WithPath(path, err)
	}
	p, err := newPlanFile(path, f)
	if err != nil {
		_ = f.Close() // the error is that of reading
		return nil, err
	}
	return p, nil
}

func newPlanFile(path string, f store.Source) (*PlanFile, error) {
	in := io.NewSectionReader(f, 0, f.Size())
	p := &PlanFile{planLines: planLines{path: path, in: bufio.NewReaderSize(in, 64<<10)}, file: f}
	line, err := p.line()
	if err != nil && !errors.Is(err, io.EOF) {
		return nil, err
	}
	var schema struct{ Schema string }
	switch err := json.Unmarshal(line, &schema); {
	case err != nil || schema.Schema == "":
		return nil, fmt.Errorf("%s: is no plan: its first line has no schema", path)
	case schema.Schema == PlanSchema:
	case strings.HasPrefix(schema.Schema, "dumptool/plan/"):
		return nil, fmt.Errorf("%s: was written by a newer version (%.40s, this one reads %s)", path, schema.Schema, PlanSchema)
	default:
		return nil, fmt.Errorf("%s: is no plan: its schema is %.40q, want %q", path, schema.Schema, PlanSchema)
	}
	if err := p.decode(line, p.lines, &p.head); err != nil {
		return nil, err
	}
	return p, p.head.check(path)
}

// Close closes the file.
func (p *PlanFile) Close() error { return p.file.Close() }

// Settings are those that the options of the plan are made of.
func (p *PlanFile) Settings() []Setting { return p.head.Options }

// Key are the settings that results depend on.
func (p *PlanFile) Key() []string { return p.head.Key }

// Hash identifies the plan.
func (p *PlanFile) Hash() string { return p.head.Hash }

// LacksCalls reports whether the runs are of msprobe and the plan has no values of their
// calls: they are in it where Options.Calls asked for them.
func (p *PlanFile) LacksCalls() bool { return p.head.Called && len(p.head.Calls) == 0 }

// check looks for what cannot be.
func (h *planHead) check(path string) error {
	wrong := func(format string, args ...any) error {
		return fmt.Errorf("%s: line 1: %s", path, fmt.Sprintf(format, args...))
	}
	if h.Rows < 0 || h.Of < 0 || h.Of > maxShards {
		return wrong("%d rows in %d shards", h.Rows, h.Of)
	}
	if raw, err := hex.DecodeString(h.Hash); err != nil || len(raw) != 32 {
		return wrong("hash %.80q is no SHA-256", h.Hash)
	}
	if !slices.Contains([]VerdictMode{ByEvidence, ByLimits, ByStatistics}, h.Mode) {
		return wrong("verdict_mode %.40q is unknown", h.Mode)
	}
	if _, ok := tensor.ParseDType(h.Effective); !ok && h.Effective != "" {
		return wrong("effective_type %.40q is unknown", h.Effective)
	}
	for _, c := range h.Calls {
		for _, v := range c.Values {
			if v.Row < -1 || v.Row >= h.Rows {
				return wrong("call %.80q has row %d of %d", c.API, v.Row, h.Rows)
			}
		}
	}
	for i := range h.Rounds {
		if r := &h.Rounds[i]; r.Same != nil && (*r.Same < 0 || *r.Same >= i || h.Rounds[*r.Same].Graph == nil) {
			return wrong("round %d has the graph of round %d", i, *r.Same)
		}
	}
	return nil
}

// Apply sets in options what the plan knows of them. Sides that are set already stay:
// the data lie elsewhere than where the plan was made.
func (p *PlanFile) Apply(opt *Options) {
	h := &p.head
	opt.Args = h.Args
	opt.Ref, opt.NPU = first(opt.Ref, h.RefRoot), first(opt.NPU, h.NPURoot)
	if h.ThirdRoot != "" {
		if opt.Second != "" {
			opt.Second = h.ThirdRoot
		} else {
			opt.Third = h.ThirdRoot
		}
	}
	opt.Judge.Verdict.Mode, opt.Judge.Verdict.Why = h.Mode, sentence(h.Why)
	opt.Warnings = h.OptionWarnings
	opt.SideFiles.Kept, opt.SideFiles.Ops = h.Kept, h.Ops
	if h.Unusable {
		opt.SideFiles.Problems = []*sidefile.FileError{{Given: true, Err: errors.New("could not be read when the plan was made")}}
	}
	if h.HasLimits {
		limits := make([]sidefile.OpLimits, len(h.Limits))
		for i, l := range h.Limits {
			limits[i] = sidefile.OpLimits{Name: l.Op, Atol: floatOf(l.Atol), Rtol: floatOf(l.Rtol)}
		}
		opt.SideFiles.OpConfig = sidefile.NewOpConfig(limits)
	}
}

func first(a, b string) string {
	if a != "" {
		return a
	}
	return b
}

func floatOf(n *record.Number) *float64 {
	if n == nil {
		return nil
	}
	return &n.Value
}

// Shard reads the plan with the rows of one shard, divided as Divide does it. Its options
// are those of Apply and of the settings. IgnoreID lets files have been written at another
// time. The rows are read twice, so that no more of those of other shards is in memory
// than what divides them.
func (p *PlanFile) Shard(opt Options, ignoreID bool, spec shard.Spec, by ShardBy) (*Plan, error) {
	plan, r := p.begin(opt, ignoreID)
	var items []shard.Item
	var shards []int
	keeps := p.head.keeps(spec.Of, by)
	by = by.orDefault()
	err := p.rows(r, func(x *plannedRow) {
		if keeps && x.shard >= 0 {
			shards = append(shards, x.shard)
		}
		x.pair.Row = &x.row
		items = append(items, plan.shardItem(&x.pair, by))
	})
	if err != nil {
		return nil, err
	}
	if len(shards) != len(items) {
		shards = divide(items, spec.Of, by)
	}
	again, err := newPlanFile(p.path, p.file)
	if err != nil {
		return nil, err
	}
	for i, of := range shards {
		line, err := again.line()
		if err != nil {
			return nil, err
		}
		if of != spec.Index {
			continue
		}
		x := r.read(&again.planLines, plannedLine{line, again.lines, i})
		if x.err != nil {
			return nil, x.err
		}
		plan.rows, plan.Pairs = append(plan.rows, x.row), append(plan.Pairs, x.pair)
		plan.shards, plan.numbers = append(plan.shards, of), append(plan.numbers, i)
	}
	plan.linkRows()
	return plan, nil
}

// rows reads the rows, one after the other, and checks that they are those of the head.
func (p *PlanFile) rows(r *planReader, add func(*plannedRow)) error {
	sum, n := p.head.sum(), 0
	for ; ; n++ {
		line, err := p.line()
		if errors.Is(err, io.EOF) {
			return p.checkRows(n, sum)
		}
		if err != nil {
			return err
		}
		x := r.read(&p.planLines, plannedLine{line, p.lines, n})
		if x.err != nil {
			return x.err
		}
		sum.Write(x.summed) // never fails
		add(&x)
	}
}

// linkRows gives every pair its row.
func (p *Plan) linkRows() {
	for i := range p.Pairs {
		p.Pairs[i].Row = &p.rows[i]
	}
}

// checkRows checks that as many rows were read as there are, and that they are those that
// the head is about.
func (p *PlanFile) checkRows(n int, sum hash.Hash) error {
	if n != p.head.Rows {
		return fmt.Errorf("%s: ends after row %d of %d: the plan was not written whole", p.path, n, p.head.Rows)
	}
	if got := hex.EncodeToString(sum.Sum(nil)); got != p.head.Hash {
		return fmt.Errorf("%s: its rows make the hash %.12s, its first line says %.12s: the file was changed", p.path, got, p.head.Hash)
	}
	return nil
}

// begin makes the plan without its rows, and what makes those of lines.
func (p *PlanFile) begin(opt Options, ignoreID bool) (*Plan, *planReader) {
	h := &p.head
	if opt.Workers <= 0 {
		opt.Workers = DefaultWorkers()
	}
	plan := &Plan{opt: &opt, file: h, called: h.Called, calls: h.callPairs(), OrderSource: sentence(h.Order), Coverage: h.Coverage.Coverage, Warnings: h.Warnings}
	plan.Coverage.Reference = h.Coverage.Reference
	plan.Effective, _ = tensor.ParseDType(h.Effective)
	plan.selection = &selection{pair: &plan.opt.Pair, inputs: h.Inputs, others: map[string]bool{}}
	for _, round := range h.OtherRounds {
		plan.selection.others[round] = true
	}
	for i := range h.Rounds {
		plan.rounds = append(plan.rounds, h.round(i, plan.rounds))
	}
	r := &planReader{plan: plan, roots: [3]string{opt.Ref, opt.NPU, thirdRoot(&opt)}, ignoreID: ignoreID}
	for i := range r.pools {
		r.pools[i] = new(tensorfile.Pool)
	}
	plan.pools = r.pools[:]
	return plan, r
}

// round is a round as it was planned, after those before it: rounds of one graph share it.
func (h *planHead) round(i int, before []*plannedRound) *plannedRound {
	j := &h.Rounds[i]
	r := &plannedRound{key: j.Key, Round: record.Round{Name: j.Name, At: j.At, RefAt: j.RefAt, Notes: j.Notes,
		OrderSource: sentence(j.Order), OrderKnown: j.Known, GraphSource: sentence(j.Source), Findings: record.NoFindings()}}
	if j.Same != nil {
		r.flow = before[*j.Same].flow
	} else {
		r.flow = &flow{graphOf(j.Graph)}
	}
	return r
}

// graphOf is the graph of its operators, nil for none, with one copy of each name.
func graphOf(operators []planOperator) diagnose.Graph {
	if operators == nil {
		return nil
	}
	g, names := make(diagnose.Graph, len(operators)), make(map[string]string, len(operators))
	for _, op := range operators {
		g[op.Op], names[op.Op] = op.Reads, op.Op
	}
	for _, op := range operators {
		for k := range op.Reads {
			if name, ok := names[op.Reads[k].Op]; ok {
				op.Reads[k].Op = name
			}
		}
	}
	return g
}

// planReader makes pairs of rows.
type planReader struct {
	plan     *Plan
	roots    [3]string
	pools    [3]*tensorfile.Pool
	ignoreID bool
}

// plannedLine is a line of a plan file: its number, and the index of its row.
type plannedLine struct {
	text          []byte
	number, index int
}

// plannedRow is a row of a plan file, or why it is none.
type plannedRow struct {
	row    record.Row
	pair   Pair
	shard  int    // -1 for none
	summed []byte // what the hash of the plan is made of
	err    error
}

// read makes a row of a line. It may be called by several goroutines at once.
func (r *planReader) read(lines *planLines, line plannedLine) (x plannedRow) {
	var j planRow
	if x.err = lines.decode(line.text, line.number, &j); x.err != nil {
		return x
	}
	if x.err = r.make(&x, &j, line.index); x.err != nil {
		x.err = fmt.Errorf("%s: line %d: %w", lines.path, line.number, x.err)
		return x
	}
	var b bytes.Buffer
	x.err = j.addTo(&b)
	x.summed = b.Bytes()
	return x
}

// make makes the row of an index.
func (r *planReader) make(to *plannedRow, j *planRow, index int) error {
	p := r.plan
	switch {
	case j.Index != index:
		return fmt.Errorf("row %d stands where row %d should", j.Index, index)
	case j.Op == "":
		return errors.New("no op")
	case j.Output < 0:
		return fmt.Errorf("output %d is negative", j.Output)
	case j.Round < 0 || j.Round >= len(p.rounds):
		return fmt.Errorf("round %d of %d", j.Round, len(p.rounds))
	case j.Status != "" && !slices.Contains(record.Statuses(), j.Status):
		return fmt.Errorf("status %.40q is unknown", j.Status)
	case j.Status == "" && (j.Ref == nil || j.NPU == nil):
		return errors.New("a side is missing, and there is no status")
	}
	round := p.rounds[j.Round]
	row := record.Row{Op: j.Op, NPUOp: j.NPUOp, OpType: j.OpType, Kind: j.Kind, Output: j.Output, Round: round.Name, At: round.At, Key: round.key,
		Order: j.Order, Rule: j.Rule, Script: j.Script, Modules: j.Calls, Module: j.Module, Status: j.Status, Reasons: j.Reasons, Notes: j.Notes}
	if j.Error != "" {
		row.Err = errors.New(j.Error)
	}
	x := Pair{round: round, decided: j.Status != ""}
	if j.Format != "" {
		f, ok := tensor.ParseFormat(j.Format)
		if !ok {
			return fmt.Errorf("format %.40q is unknown", j.Format)
		}
		x.format = &f
	}
	for side, from := range []*planTensor{j.Ref, j.NPU, j.Third} {
		if from == nil {
			continue
		}
		t, err := r.tensor(from, side)
		if err != nil {
			return err
		}
		switch side {
		case 0:
			x.Ref, row.RefFile, row.RefPath = t, t.String(), t.Path
		case 1:
			x.NPU, row.NPUFile, row.NPUPath = t, t.String(), t.Path
		default:
			x.Third = t
		}
	}
	to.shard = -1
	if j.Shard != nil {
		if *j.Shard < 0 || *j.Shard >= p.file.Of {
			return fmt.Errorf("shard %d of %d", *j.Shard, p.file.Of)
		}
		to.shard = *j.Shard
	}
	to.row, to.pair = row, x
	return nil
}

// tensor is a tensor as it was planned.
func (r *planReader) tensor(j *planTensor, side int) (*Tensor, error) {
	if j.Size < 0 || j.Index < 0 {
		return nil, fmt.Errorf("tensor %d of a file of %d bytes", j.Index, j.Size)
	}
	t := &Tensor{Size: j.Size, Table: j.Table}
	t.Path, t.Kind, t.Index, t.Member, t.Raw, t.Single, t.Files = j.in(r.roots[side]), j.Kind, j.Index, j.Member, j.Raw, j.Single, r.pools[side]
	if t.Name = j.Name; t.Name == "" {
		t.Name = store.Base(t.Path)
	}
	if j.Kind == "" { // what belongs to no operator
		t.Single = true
	}
	switch {
	case len(j.Error) > 0:
		t.Err = &plannedError{j.Error[0], j.Code, j.Named}
	case !j.Table:
		t.planned = &fileID{j.Size, j.ID, r.ignoreID}
	}
	if s := j.Statistics; s != nil {
		d, ok := tensor.ParseDType(s.DType)
		if !ok && s.DType != "" {
			return nil, fmt.Errorf("dtype %.40q is unknown", s.DType)
		}
		t.Statistics = &dumpdir.Statistics{DType: d, Shape: s.Shape, Digest: s.Digest, Values: map[dumpdir.Statistic]float64{}}
		for what, v := range s.Values {
			t.Statistics.Values[what] = metrics.Metric(v).Value
		}
	}
	return t, nil
}

// planLines reads the lines of a plan file.
type planLines struct {
	path  string
	in    *bufio.Reader
	lines int // read
}

// line reads a line. The error is io.EOF at the end.
func (l *planLines) line() (line []byte, err error) {
	for {
		piece, err := l.in.ReadSlice('\n')
		line = append(line, piece...)
		switch {
		case err == nil:
			l.lines++
			return line, nil
		case errors.Is(err, bufio.ErrBufferFull):
		case errors.Is(err, io.EOF) && len(line) == 0:
			return nil, io.EOF
		case errors.Is(err, io.EOF):
			return nil, fmt.Errorf("%s: ends within line %d: the plan was not written whole", l.path, l.lines+1)
		default:
			return nil, safefile.WithPath(l.path, err)
		}
	}
}

// decode takes the line of a number apart.
func (l *planLines) decode(line []byte, number int, v any) error {
	dec := json.NewDecoder(bytes.NewReader(line))
	dec.DisallowUnknownFields()
	if err := dec.Decode(v); err != nil {
		return fmt.Errorf("%s: line %d: %w", l.path, number, err)
	}
	if dec.More() {
		return fmt.Errorf("%s: line %d: more than one value", l.path, number)
	}
	return nil
}
