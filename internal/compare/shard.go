package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/record"
	"dumptool/internal/safefile"
	"dumptool/internal/shard"
	"dumptool/internal/store"
)

// ShardBy says what rows have in common that one shard compares.
type ShardBy string

// The ways to divide a plan.
const (
	// ByReference keeps the pairs of one reference together, which is then read once.
	ByReference ShardBy = "ref"
	// ByPair divides the pairs by their sizes alone.
	ByPair ShardBy = "pair"
	// ByRound keeps the rows of a round together.
	ByRound ShardBy = "round"
)

// ShardBys lists the ways.
func ShardBys() []ShardBy { return []ShardBy{ByReference, ByPair, ByRound} }

// partKind is the kind of the parts of a comparison.
const partKind = "compare"

// maxShards bounds the number of shards of a plan.
const maxShards = shard.MaxShards

// pairCost is what comparing a pair takes besides its bytes, in bytes.
const pairCost = 64 << 10

// Divide gives every row to one of n shards. It is a function of the plan, n and by: a
// plan whose file has rows for n shards keeps them, unless by says otherwise.
func (p *Plan) Divide(n int, by ShardBy) {
	if len(p.shards) == len(p.Pairs) && p.file.keeps(n, by) {
		return
	}
	by = by.orDefault()
	items := make([]shard.Item, len(p.Pairs))
	for i := range p.Pairs {
		items[i] = p.shardItem(&p.Pairs[i], by)
	}
	p.file.Of, p.file.By = n, by
	p.shards = divide(items, n, by)
}

// keeps reports whether a plan that was divided is divided as asked; by may be empty.
func (h *planHead) keeps(n int, by ShardBy) bool { return h.Of == n && (by == "" || by == h.By) }

// orDefault is by, or what holds where nothing is said.
func (by ShardBy) orDefault() ShardBy {
	if by == "" {
		return ByReference
	}
	return by
}

// divide gives every item to one of n shards.
func divide(items []shard.Item, n int, by ShardBy) []int {
	if by == ByRound {
		return divideRounds(items, n)
	}
	return shard.BalanceGroups(items, n)
}

// shardItem is a row as work that is to be divided.
func (p *Plan) shardItem(x *Pair, by ShardBy) shard.Item {
	row, below := x.Row, ""
	for _, side := range []struct {
		t    *Tensor
		root string
	}{{x.NPU, p.opt.NPU}, {x.Ref, p.opt.Ref}} {
		if side.t != nil && below == "" {
			var j planTensor
			j.setPath(side.t.Path, side.root)
			below = first(j.Path, j.Outside) + ":" + side.t.Member
		}
	}
	it := shard.Item{Key: shard.Key(row.Op, row.Kind, row.Output, row.Round, below)}
	if !x.decided {
		it.Size, it.Shared = pairCost+x.NPU.Size, x.Ref.Size
		if x.Third != nil {
			it.Size += x.Third.Size
		}
	}
	switch {
	case by == ByRound:
		it.Size, it.Shared, it.Group = it.Size+it.Shared, 0, row.Round
	case by == ByPair, x.decided:
		it.Size, it.Shared = it.Size+it.Shared, 0
	default:
		var j planTensor
		j.setPath(x.Ref.Path, p.opt.Ref)
		it.Group = "ref " + first(j.Path, j.Outside) + ":" + x.Ref.Member
	}
	return it
}

// divideRounds gives all items of a group to one shard.
func divideRounds(items []shard.Item, n int) []int {
	at := map[string]int{}
	var keys []string
	var sizes []int64
	for i := range items {
		k, ok := at[items[i].Group]
		if !ok {
			k = len(keys)
			at[items[i].Group] = k
			keys, sizes = append(keys, items[i].Group), append(sizes, 0)
		}
		sizes[k] += items[i].Size
	}
	of := shard.Balance(sizes, keys, n)
	shards := make([]int, len(items))
	for i := range items {
		shards[i] = of[at[items[i].Group]]
	}
	return shards
}

// Rows are the rows of a shard of a plan that was divided.
func (p *Plan) Rows(spec shard.Spec) []int {
	var rows []int
	for i, of := range p.shards {
		if of == spec.Index {
			rows = append(rows, i)
		}
	}
	return rows
}

// number is that of a row in the plan file.
func (p *Plan) number(i int) int {
	if p.numbers == nil {
		return i
	}
	return p.numbers[i]
}

// place is the row of a number of the plan file. ok is false where it is of another shard.
func (p *Plan) place(number int) (i int, ok bool) {
	if p.numbers == nil {
		return number, true
	}
	return slices.BinarySearch(p.numbers, number)
}

// partRow is a row of a part file. It is empty where there was nothing to compare: the
// plan has that row.
type partRow struct {
	Row      *record.Whole      `json:"row,omitempty"`
	Evidence *diagnose.Evidence `json:"evidence,omitempty"`
	Warning  record.Said        `json:"warning,omitempty"`
}

// partHead is the head of a part of the plan.
func (h *planHead) partHead(tool string, spec shard.Spec) (shard.Head, error) {
	meta, err := json.Marshal(h.Key)
	return shard.Head{Kind: partKind, Tool: tool, Plan: h.Hash, Shard: spec.Index, Of: spec.Of, Rows: h.Rows, Meta: meta}, err
}

// WritePart writes the rows of a shard to the folder of the parts. They are in the order
// of the plan. It returns the path of the file.
func (p *Plan) WritePart(dir string, spec shard.Spec, parts []Part) (path string, err error) {
	head, err := p.file.partHead(p.opt.Tool, spec)
	if err != nil {
		return "", err
	}
	w, err := shard.Create(dir, head)
	if err != nil {
		return "", err
	}
	defer w.Abort()
	for i := range parts {
		part := &parts[i]
		var j partRow
		if !p.Pairs[part.Pair].decided {
			j.Row = &record.Whole{Row: part.Row}
			if !part.Evidence.IsZero() {
				j.Evidence = &part.Evidence
			}
			if !part.Warning.IsZero() {
				j.Warning = record.Said{part.Warning}
			}
		}
		data, err := json.Marshal(&j)
		if err == nil {
			err = w.Write(p.number(part.Pair), data)
		}
		if err != nil {
			return "", fmt.Errorf("%s: %w", part.Row.Name(), err)
		}
	}
	return w.Path(), w.Commit()
}

// Parts looks for the parts of the plan at paths.
func (p *Plan) Parts(paths []string) (*shard.Listing, error) { return p.file.parts(paths, p.opt.Tool) }

// Parts looks for the parts of the plan at paths, written by a tool.
func (p *PlanFile) Parts(paths []string, tool string) (*shard.Listing, error) {
	return p.head.parts(paths, tool)
}

// Parts looks for parts at paths: those of a plan, or of the one that most belong to. Of
// parts that belong to another plan is said which options differ.
func Parts(paths []string, plan *PlanFile) (*shard.Listing, error) {
	if plan == nil {
		return shard.List(paths, shard.Head{Kind: partKind})
	}
	return plan.head.parts(paths, "")
}

func (h *planHead) parts(paths []string, tool string) (*shard.Listing, error) {
	want := shard.Head{Kind: partKind, Tool: tool, Plan: h.Hash, Rows: h.Rows}
	l, err := shard.List(paths, want)
	if err != nil {
		return nil, err
	}
	for i := range l.Parts {
		x := &l.Parts[i]
		var foreign *shard.ForeignError
		if !errors.As(x.Err, &foreign) || x.Head.Plan == h.Hash || x.Head.Kind != partKind {
			continue
		}
		var key []string
		if err := json.Unmarshal(x.Head.Meta, &key); err == nil {
			x.Err = h.otherPlan(x.Err, key)
		}
	}
	return l, nil
}

// otherPlan adds to an error what options a part was made with.
func (h *planHead) otherPlan(err error, key []string) error {
	var has, lacks []string
	for _, k := range key {
		if !slices.Contains(h.Key, k) {
			has = append(has, k)
		}
	}
	for _, k := range h.Key {
		if !slices.Contains(key, k) {
			lacks = append(lacks, k)
		}
	}
	switch {
	case len(has) == 1 && len(lacks) == 1 && name(has[0]) == name(lacks[0]):
		_, value, _ := strings.Cut(lacks[0], " ")
		return fmt.Errorf("%w: it was made with %s, the plan has %s", err, has[0], value)
	case len(has)+len(lacks) > 0:
		return fmt.Errorf("%w: it was made with %s, the plan with %s", err, allOf(has), allOf(lacks))
	}
	return fmt.Errorf("%w: its options are the same, its tensors are not", err)
}

// name is the name of an option.
func name(option string) string {
	name, _, _ := strings.Cut(option, " ")
	return name
}

func allOf(options []string) string {
	if len(options) == 0 {
		return "the defaults"
	}
	return strings.Join(options, " ")
}

// Keep leaves the plan among the parts in a folder, unless it is there.
func (p *Plan) Keep(dir string) error { return p.file.keep(dir, p.Write) }

// Keep leaves the plan file among the parts in a folder, unless it is there.
func (p *PlanFile) Keep(dir string) error {
	return p.head.keep(dir, func(w io.Writer) error {
		_, err := io.Copy(w, io.NewSectionReader(p.file, 0, p.file.Size()))
		return err
	})
}

func (h *planHead) keep(dir string, write func(io.Writer) error) error {
	path := store.Join(dir, PlanName)
	if there, err := OpenPlan(path); err == nil {
		defer there.Close()
		if there.Hash() == h.Hash {
			return nil
		}
	}
	if err := safefile.MkdirAll(dir); err != nil {
		return err
	}
	return writePlan(path, write)
}

// Retry takes the part of a shard that is there: done are its rows, without those that
// could not be read, which are left. Without a part all are left.
func (p *Plan) Retry(ctx context.Context, dir string, spec shard.Spec, rows []int) (left []int, done []Part, err error) {
	path := store.Join(dir, shard.FileName(spec.Index, spec.Of))
	l, err := p.Parts([]string{path})
	switch {
	case errors.Is(err, fs.ErrNotExist):
		return rows, nil, nil
	case err != nil:
		return nil, nil, err
	}
	switch x := &l.Parts[0]; {
	case x.State == shard.Cut, x.State == shard.Damaged:
		return rows, nil, nil
	case x.Err != nil:
		return nil, nil, x.Err
	}
	before := slices.Clone(p.rows)
	parts, err := p.ReadParts(ctx, l, true)
	if err != nil {
		return nil, nil, err
	}
	left, done = p.Unread(parts)
	if len(left)+len(done) != len(rows) {
		return nil, nil, fmt.Errorf("%s: has %d rows, the shard %d: was it divided in another way (--shard-by)?", path, len(left)+len(done), len(rows))
	}
	for _, i := range left {
		p.rows[i] = before[i]
	}
	return left, done, nil
}

// ReadParts reads the rows of parts, in the order of the plan. With allowMissing some
// may be missing. Of the rows is kept what the options of the plan want.
func (p *Plan) ReadParts(ctx context.Context, l *shard.Listing, allowMissing bool) ([]Part, error) {
	parts := make([]Part, 0, len(p.Pairs))
	var rows []shard.Row
	add := func() error {
		type read struct {
			part Part
			err  error
		}
		var failed error
		err := batch.Run(ctx, batch.Options{Workers: p.opt.Workers}, rows, nil,
			func(_ context.Context, r shard.Row) read {
				part, err := p.readRow(r)
				return read{part, err}
			},
			func(i int, r read) {
				if r.err != nil && failed == nil {
					failed = fmt.Errorf("row %d: %w", rows[i].Index, r.err)
				}
				parts = append(parts, r.part)
			})
		rows = rows[:0]
		if failed != nil {
			return failed
		}
		return err
	}
	err := l.Rows(allowMissing, func(r shard.Row) error {
		if rows = append(rows, r); len(rows) < rowsRead {
			return nil
		}
		return add()
	})
	if err == nil {
		err = add()
	}
	return parts, err
}

// rowsRead is the number of rows that are taken apart side by side.
const rowsRead = 512

// readRow reads a row of a part into that of the plan.
func (p *Plan) readRow(r shard.Row) (Part, error) {
	i, ok := p.place(r.Index)
	if !ok {
		return Part{}, errors.New("is of another shard: was it divided in another way (--shard-by)?")
	}
	part, err := p.fillRow(&p.Pairs[i], &p.rows[i], r)
	part.Pair = i
	return part, err
}

// fillRow reads a row of a part into a row of the plan.
func (p *Plan) fillRow(x *Pair, into *record.Row, r shard.Row) (Part, error) {
	var j partRow
	if err := json.Unmarshal(r.Data, &j); err != nil {
		return Part{}, err
	}
	part := Part{Pair: r.Index, Row: into}
	switch {
	case x.decided && j.Row == nil:
		return part, nil
	case x.decided || j.Row == nil:
		return part, fmt.Errorf("%s: compared and not to be compared", part.Row.Name())
	}
	row, planned := j.Row.Row, part.Row
	if row.Op != planned.Op || row.Kind != planned.Kind || row.Output != planned.Output {
		return part, fmt.Errorf("%s, the plan has %s", row.Name(), planned.Name())
	}
	if row.Status == "" {
		return part, fmt.Errorf("%s has no status", row.Name())
	}
	// What the plan says of the row counts: paths may be others where it was compared.
	row.Op, row.NPUOp, row.OpType, row.Kind, row.Round, row.At = planned.Op, planned.NPUOp, planned.OpType, planned.Kind, planned.Round, planned.At
	row.Script, row.Modules, row.Module, row.Key, row.Rule, row.Order = planned.Script, planned.Modules, planned.Module, planned.Key, planned.Rule, planned.Order
	row.RefFile, row.NPUFile, row.RefPath, row.NPUPath = planned.RefFile, planned.NPUFile, planned.RefPath, planned.NPUPath
	if res := row.Result.Unpack(); res != nil {
		p.retain(row, res)
	}
	*planned = *row
	if j.Evidence != nil {
		part.Evidence = *j.Evidence
	}
	part.Warning = sentence(j.Warning)
	return part, nil
}

// Unread are those of some parts that could not be read, and the others.
func (p *Plan) Unread(parts []Part) (unread []int, others []Part) {
	for _, part := range parts {
		if part.Row.Status == record.Error && !p.Pairs[part.Pair].decided {
			unread = append(unread, part.Pair)
		} else {
			others = append(others, part)
		}
	}
	return unread, others
}
