package compare

import (
	"bufio"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"hash"
	"io"
	"maps"
	"slices"
	"strings"
	"unicode/utf8"

	"dumptool/internal/compare/diagnose"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/sidefile"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// PlanSchema is that of the plan files that are written and read here.
const PlanSchema = "dumptool/plan/1"

// PlanName is the name of the plan among parts.
const PlanName = "plan.jsonl"

// A plan file has lines of JSON: a planHead, then a planRow a line in the order of the
// plan. Paths of tensors are below the sides, so that the file is good wherever they lie.

// Setting is an option of a run as flags have it: the values of a list, or one.
type Setting struct {
	Name   string   `json:"name"`
	Values []string `json:"values"`
}

// PlanSource says where a plan comes from: the settings that make its options, and those
// of them that change what is compared and found.
type PlanSource struct {
	Settings []Setting
	// Key are the settings that results depend on, as texts.
	Key []string
	// IgnoreID leaves out when files were written, so that copies of the data have the
	// same plan.
	IgnoreID bool
}

// planHead is the first line of a plan file.
type planHead struct {
	Schema string `json:"schema"`
	Tool   string `json:"tool"`
	// Hash is the SHA-256 of what the plan says, whatever the paths of the sides are.
	Hash string `json:"hash"`
	Rows int    `json:"rows"`
	// The paths of the sides, the last two of a third result or a second reference.
	RefRoot   string `json:"ref_root"`
	NPURoot   string `json:"npu_root"`
	ThirdRoot string `json:"third_root,omitempty"`
	// Of is the number of shards that rows have a shard of, By what they were put
	// together by.
	Of int     `json:"n,omitempty"`
	By ShardBy `json:"shard_by,omitempty"`

	Options []Setting `json:"options"`
	Key     []string  `json:"key"`
	Args    []string  `json:"args"`

	Mode      VerdictMode `json:"verdict_mode"`
	Why       record.Said `json:"verdict_why"`
	Effective string      `json:"effective_type,omitempty"`
	Order     record.Said `json:"order_source"`
	Coverage  coverage    `json:"coverage"`
	Warnings  record.Said `json:"warnings"`
	// OptionWarnings are those about the options, which end a report.
	OptionWarnings record.Said `json:"option_warnings"`
	Unusable       bool        `json:"unusable_files,omitempty"`
	// OtherRounds are the rounds that were not asked for, as a baseline has them, Inputs
	// is set where inputs are compared.
	OtherRounds []string            `json:"other_rounds,omitempty"`
	Inputs      bool                `json:"inputs,omitempty"`
	Rounds      []planRound         `json:"rounds"`
	Limits      []opLimits          `json:"op_limits,omitempty"`
	HasLimits   bool                `json:"has_op_limits,omitempty"`
	Kept        []sidefile.SkipLine `json:"kept,omitempty"`
	// Ops are the names of a file of operators that are compared.
	Ops []string `json:"ops,omitempty"`
	// Called is set for runs of msprobe, Calls are their calls where a report shows them.
	Called bool       `json:"called,omitempty"`
	Calls  []planCall `json:"calls,omitempty"`
}

// coverage is record.Coverage with its counts.
type coverage struct {
	Reference int `json:"reference"`
	record.Coverage
}

// planRound is a round in a plan file.
type planRound struct {
	Name   string      `json:"name"`
	Key    string      `json:"key"`
	At     record.At   `json:"at"`
	RefAt  record.At   `json:"ref_at"`
	Notes  []string    `json:"notes,omitempty"`
	Order  record.Said `json:"order_source"`
	Known  bool        `json:"order_known"`
	Source record.Said `json:"graph_source"`
	// Graph says what operators read; nil where nobody knows. A round with the graph of
	// an earlier one has its number.
	Graph []planOperator `json:"graph,omitempty"`
	Same  *int           `json:"same_graph,omitempty"`
}

// planOperator is what an operator reads.
type planOperator struct {
	Op    string            `json:"op"`
	Reads []diagnose.Source `json:"reads,omitempty"`
}

// opLimits are the limits of an operator.
type opLimits struct {
	Op   string         `json:"op"`
	Atol *record.Number `json:"atol,omitempty"`
	Rtol *record.Number `json:"rtol,omitempty"`
}

// planRow is a row of a plan file.
type planRow struct {
	Index  int    `json:"i"`
	Op     string `json:"op"`
	NPUOp  string `json:"npu_op,omitempty"`
	OpType string `json:"op_type,omitempty"`
	Kind   string `json:"kind"`
	Output int    `json:"output"`
	// Round is the number of the round.
	Round  int         `json:"round"`
	Order  int         `json:"order"`
	Rule   string      `json:"rule,omitempty"`
	Script string      `json:"script,omitempty"`
	Calls  []string    `json:"modules,omitempty"`
	Module string      `json:"module,omitempty"`
	Format string      `json:"format,omitempty"`
	Ref    *planTensor `json:"ref,omitempty"`
	NPU    *planTensor `json:"npu,omitempty"`
	Third  *planTensor `json:"third,omitempty"`
	// The rest is of rows with nothing to compare, but for the notes.
	Status  record.Status  `json:"status,omitempty"`
	Reasons record.Reasons `json:"reasons,omitempty"`
	Notes   record.Said    `json:"notes,omitempty"`
	Error   string         `json:"error,omitempty"`
	Shard   *int           `json:"shard,omitempty"`
}

// planTensor is a tensor of a side. One that stands for a file that belongs to no
// operator has the path only.
type planTensor struct {
	// Path is below the side, empty for the side itself, and Outside a path that is not.
	Path    string `json:"path,omitempty"`
	Outside string `json:"outside,omitempty"`
	Size    int64  `json:"size,omitempty"`
	// ID is the ETag, or when the file was written.
	ID     string      `json:"etag,omitempty"`
	Name   string      `json:"name,omitempty"`
	Kind   tensor.Kind `json:"kind,omitempty"`
	Index  int         `json:"index,omitempty"`
	Member string      `json:"member,omitempty"`
	Raw    bool        `json:"raw,omitempty"`
	Single bool        `json:"single,omitempty"`
	// Statistics are those of a table, Table is set where there is nothing else.
	Statistics *planStatistics `json:"statistics,omitempty"`
	Table      bool            `json:"table,omitempty"`
	// Error says why the file cannot be read; Named is set where it names the file.
	Error record.Said `json:"error,omitempty"`
	Named bool        `json:"named,omitempty"`
	Code  record.Code `json:"code,omitempty"`
}

// planStatistics are dumpdir.Statistics.
type planStatistics struct {
	DType  string                              `json:"dtype,omitempty"`
	Shape  tensor.Shape                        `json:"shape"`
	Values map[dumpdir.Statistic]record.Number `json:"values"`
	Digest string                              `json:"digest,omitempty"`
}

// said is a sentence as a list.
func said(s lang.Sentence) record.Said {
	if s.IsZero() {
		return record.Said{}
	}
	return record.Said{s}
}

// sentence is the sentence of a list.
func sentence(s record.Said) lang.Sentence {
	if len(s) == 0 {
		return lang.Sentence{}
	}
	return s[0]
}

// Hash identifies what the plan says: what is compared with what and how, whatever the
// paths of the sides are.
func (p *Plan) Hash() string { return p.file.Hash }

// Freeze makes the plan one that can be divided and written: it notes which files there
// are, and the hash.
func (p *Plan) Freeze(from PlanSource) error {
	h := &planHead{Schema: PlanSchema, Tool: p.opt.Tool, Rows: len(p.Pairs),
		RefRoot: p.opt.Ref, NPURoot: p.opt.NPU, ThirdRoot: thirdRoot(p.opt),
		Options: from.Settings, Key: from.Key, Args: p.opt.Args,
		Mode: p.opt.Judge.Verdict.Mode, Why: said(p.opt.Judge.Verdict.Why), Order: said(p.OrderSource),
		Coverage: coverage{p.Coverage.Reference, p.Coverage}, Warnings: p.Warnings, OptionWarnings: p.opt.Warnings,
		Unusable:    slices.ContainsFunc(p.opt.SideFiles.Problems, func(e *sidefile.FileError) bool { return e.Given }),
		OtherRounds: slices.Sorted(maps.Keys(p.selection.others)), Inputs: p.selection.inputs, Kept: p.opt.SideFiles.Kept, Ops: p.opt.SideFiles.Ops,
		Called: p.called, Calls: planCalls(p.calls)}
	if p.Effective != tensor.Undefined {
		h.Effective = p.Effective.String()
	}
	if c := p.opt.SideFiles.OpConfig; c != nil {
		h.HasLimits = true
		for i := range c.Entries {
			h.Limits = append(h.Limits, opLimits{c.Entries[i].Name, optionalNumber(c.Entries[i].Atol), optionalNumber(c.Entries[i].Rtol)})
		}
	}
	p.addRounds(h)
	p.file = h
	ids := fileIDs{ignore: from.IgnoreID, known: map[string]fileID{}}
	sum := h.sum()
	for i := range p.Pairs {
		row, err := p.fileRow(i, &ids)
		if err != nil {
			return err
		}
		if err := row.addTo(sum); err != nil {
			return err
		}
	}
	p.ids = &ids
	h.Hash = hex.EncodeToString(sum.Sum(nil))
	return nil
}

// thirdRoot is the path of the third side, empty for none.
func thirdRoot(o *Options) string {
	if o.Third != "" {
		return o.Third
	}
	return o.Second
}

func optionalNumber(x *float64) *record.Number {
	if x == nil {
		return nil
	}
	n := record.NumberOf(*x)
	return &n
}

// addRounds adds the rounds, with what is known of who feeds whom.
func (p *Plan) addRounds(h *planHead) {
	first := map[*plannedRound]int{}
	for i := range p.Pairs {
		r := p.Pairs[i].round
		if _, ok := first[r]; !ok {
			first[r] = i
		}
	}
	graphs := map[string]int{}
	for i, r := range p.rounds {
		j := planRound{Name: r.Name, Key: r.key, At: r.At, RefAt: r.RefAt, Notes: r.Notes, Order: said(r.OrderSource), Known: r.OrderKnown, Source: said(r.GraphSource)}
		if at, ok := first[r]; ok {
			end := at
			for end < len(p.Pairs) && p.Pairs[end].round == r {
				end++
			}
			rows := diagnose.InMemory(p.rows[at:end], nil)
			r.nameModules(rows)
			j.Graph = operatorsOfGraph(r.network(rows))
		}
		if text, err := json.Marshal(j.Graph); err == nil && j.Graph != nil {
			if same, ok := graphs[string(text)]; ok {
				j.Graph, j.Same = nil, &same
			} else {
				graphs[string(text)] = i
			}
		}
		h.Rounds = append(h.Rounds, j)
	}
}

// operatorsOfGraph lists what operators read, by name.
func operatorsOfGraph(g diagnose.Graph) []planOperator {
	if g == nil {
		return nil
	}
	all := []planOperator{}
	for _, op := range slices.Sorted(maps.Keys(g)) {
		all = append(all, planOperator{op, g[op]})
	}
	return all
}

// sum begins the hash of a plan with what its head says.
func (h *planHead) sum() hash.Hash {
	part := planHead{Schema: h.Schema, Rows: h.Rows, Key: h.Key, Mode: h.Mode, Effective: h.Effective, OtherRounds: h.OtherRounds, Inputs: h.Inputs,
		Limits: h.Limits, HasLimits: h.HasLimits, Ops: h.Ops}
	for _, r := range h.Rounds {
		r.Order, r.Source, r.Notes = nil, nil, nil // they name files
		part.Rounds = append(part.Rounds, r)
	}
	sum := sha256.New()
	_ = json.NewEncoder(sum).Encode(&part) // a hash takes all, and there is nothing that JSON has not
	return sum
}

// addTo adds a row to the hash of a plan, without texts that name paths.
func (r planRow) addTo(sum io.Writer) error {
	r.Reasons, r.Notes, r.Error, r.Shard = nil, nil, "", nil
	for _, t := range []**planTensor{&r.Ref, &r.NPU, &r.Third} {
		if *t != nil && (*t).Error != nil {
			plain := **t
			plain.Error = nil
			*t = &plain
		}
	}
	return json.NewEncoder(sum).Encode(&r)
}

// fileRow is a pair in a plan file.
func (p *Plan) fileRow(i int, ids *fileIDs) (planRow, error) {
	x := &p.Pairs[i]
	row := x.Row
	if !utf8.ValidString(row.Op) || !utf8.ValidString(row.NPUOp) {
		return planRow{}, noText(row.Name())
	}
	r := planRow{Index: i, Op: row.Op, NPUOp: row.NPUOp, OpType: row.OpType, Kind: row.Kind, Output: row.Output,
		Round: slices.Index(p.rounds, x.round), Order: row.Order, Rule: row.Rule, Script: row.Script, Calls: row.Modules, Module: row.Module,
		Notes: row.Notes}
	if x.decided {
		r.Status, r.Reasons = row.Status, row.Reasons
	}
	if row.Err != nil {
		r.Error = row.Err.Error()
	}
	if x.format != nil {
		r.Format = x.format.String()
	}
	var err error
	for _, side := range []struct {
		to   **planTensor
		t    *Tensor
		root string
		path string // of what belongs to no operator
	}{{&r.Ref, x.Ref, p.opt.Ref, row.RefPath}, {&r.NPU, x.NPU, p.opt.NPU, row.NPUPath}, {&r.Third, x.Third, thirdRoot(p.opt), ""}} {
		switch {
		case side.t != nil:
			if *side.to, err = planTensorOf(side.t, side.root, ids); err != nil {
				return r, err
			}
		case side.path != "":
			*side.to = new(planTensor)
			(*side.to).setPath(side.path, side.root)
		}
	}
	return r, nil
}

// planTensorOf is a tensor in a plan file.
func planTensorOf(t *Tensor, root string, ids *fileIDs) (*planTensor, error) {
	if !utf8.ValidString(t.Path) || !utf8.ValidString(t.Member) {
		return nil, noText(t.String())
	}
	j := &planTensor{Kind: t.Kind, Index: t.Index, Member: t.Member, Raw: t.Raw, Single: t.Single, Table: t.Table, Size: t.Size}
	j.setPath(t.Path, root)
	if t.Name != store.Base(t.Path) {
		j.Name = t.Name
	}
	if t.Err != nil {
		j.Error, j.Code = record.Said{lang.Error(t.Err)}, errorCode(t.Err)
		j.Named = t.pathError().Error() == t.Err.Error()
	} else if !t.Table {
		var err error
		if j.ID, err = ids.of(t); err != nil {
			return nil, err
		}
	}
	if s := t.Statistics; s != nil {
		j.Statistics = &planStatistics{Shape: s.Shape, Digest: s.Digest, Values: map[dumpdir.Statistic]record.Number{}}
		if s.DType != tensor.Undefined {
			j.Statistics.DType = s.DType.String()
		}
		for what, v := range s.Values {
			j.Statistics.Values[what] = record.NumberOf(v)
		}
	}
	return j, nil
}

// noText is the error of a name that JSON cannot have.
func noText(name string) error {
	return fmt.Errorf("%q: the name is no UTF-8, which a plan cannot have", name)
}

// setPath sets a path by what it is below a side.
func (t *planTensor) setPath(path, root string) {
	if path == root {
		return
	}
	base := store.Clean(root)
	for _, separator := range []string{"/", "\\"} {
		if rest, ok := strings.CutPrefix(path, strings.TrimSuffix(base, separator)+separator); ok && rest != "" && store.Join(root, rest) == path {
			t.Path = strings.ReplaceAll(rest, "\\", "/")
			return
		}
	}
	if base == "." && !store.IsAbs(path) && store.Join(root, path) == path {
		t.Path = path
		return
	}
	t.Outside = path
}

// in is the path of a tensor in a side.
func (t *planTensor) in(root string) string {
	switch {
	case t.Outside != "":
		return t.Outside
	case t.Path == "":
		return root
	}
	return store.Join(root, t.Path)
}

// Write writes the plan as a file. It has to be frozen.
func (p *Plan) Write(w io.Writer) error {
	out := bufio.NewWriterSize(w, 64<<10)
	enc := json.NewEncoder(out)
	enc.SetEscapeHTML(false)
	if err := enc.Encode(p.file); err != nil {
		return err
	}
	for i := range p.Pairs {
		row, err := p.fileRow(i, p.ids)
		if err != nil {
			return err
		}
		if len(p.shards) > 0 {
			row.Shard = &p.shards[i]
		}
		if err := enc.Encode(&row); err != nil {
			return err
		}
	}
	return out.Flush()
}

// WriteFile writes the plan to a file.
func (p *Plan) WriteFile(path string) error { return writePlan(path, p.Write) }

// writePlan writes a plan file, which is complete or not there.
func writePlan(path string, write func(io.Writer) error) error {
	f, err := safefile.Create(path)
	if err != nil {
		return err
	}
	defer f.Abort()
	if err := write(f); err != nil {
		return err
	}
	return f.Commit()
}
