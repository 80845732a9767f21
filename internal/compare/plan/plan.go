package plan

import (
	"cmp"
	"context"
	"slices"
	"strings"

	"dumptool/internal/compare/pair"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/guard"
	"dumptool/internal/lang"
	"dumptool/internal/shard"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
	"dumptool/internal/tensorfile"
)

// Pair is a row before its tensors are read.
type Pair struct {
	// Row has the names, files and order; its status is set if there is nothing to compare.
	// Package execute sets the rest.
	Row      *record.Row
	Ref, NPU *Tensor // nil if that side is missing
	// Third is the tensor of the third result or of the second reference, nil for none.
	Third *Tensor
	// Masks are the tensors of both sides that say which log probabilities count; none for other tensors.
	Masks []*Tensor
	// Reads are inputs of the operator that only one side has: the reference if ReadsOfRef, else
	// the NPU. Their contents identify their producers. Only one pair of an operator has them.
	Reads      []*Tensor
	ReadsOfRef bool
	// Execution numbers the executions of the operator in one folder from 1, if several
	// are compared.
	Execution int

	// Format is the axis order of the reference, if the compiler's graph contains it.
	Format *tensor.Format
	Round  *Round

	comm      bool // the NPU tensor belongs to a communication, the reference tensor to an operator
	isDecided bool // nothing to compare: the row had a status when it was planned
}

// Plan has the tensors of both sides, paired and in execution order. Only headers and a few
// samples were read for it.
type Plan struct {
	Pairs []Pair

	Options *Options
	// Rows are the rows of the pairs, in the same order. The report keeps these
	// rows.
	Rows   []record.Row
	Rounds []*Round
	// Sharding locates NPU tensors in the reference, nil if both sides are sharded alike.
	Sharding *sharding
	// pools open the tensors of multi-tensor files.
	pools []*tensorfile.Pool
	// Calls are the msprobe calls, if a report shows them.
	Calls []record.CallPair
	// Listed describes the files of both runs, inventory is their fingerprint.
	Listed    *record.Listing
	inventory string
	// Unused are the names in op_config.csv that match no tensor.
	Unused         []string
	otherFileCount int // files of both runs that are neither dumps nor arrays
	// MayRecompute: some operators of the NPU may be recomputed.
	MayRecompute bool
}

// New opens the runs of both sides, pairs their rounds and tensors and sorts
// the pairs.
func New(ctx context.Context, opt Options) (*Plan, error) {
	if opt.Workers <= 0 {
		opt.Workers = DefaultWorkers()
	}
	ref, npu, mine, err := openSides(ctx, &opt)
	if err != nil {
		return nil, err
	}
	return newPlan(ctx, &opt, ref, npu, mine)
}

// newPlan is New for sides that are open; mine is the share of the rounds to compare.
func newPlan(ctx context.Context, opt *Options, ref, npu *Side, mine *roundShare) (*Plan, error) {
	fromStatistics, err := opt.chooseStatistics(ref, npu)
	if err != nil {
		return nil, err
	}
	p := planSides(opt, ref, npu, mine)
	p.Warnings = append(p.Warnings, fromStatistics...)
	if err := p.addThird(ctx); err != nil {
		return nil, err
	}
	npu.warnOfDevice()
	p.listed.Warnings = slices.Concat(warnOfSwap(ref, npu), ref.Warnings, npu.Warnings, ChoiceWarnings(ref, npu), p.Warnings)
	p.listed.Stale = p.missingMapNames()
	p.listed.OfOptions, p.listed.Kept = opt.Warnings, opt.SideFiles.Kept
	if err := p.Sort(); err != nil {
		return nil, err
	}
	if err := p.addMasks(); err != nil {
		return nil, err
	}
	if err := p.matchRows(ctx); err != nil {
		return nil, err
	}
	p.planReads()
	p.pairValues()
	return p.plan(), nil
}

// openSides lists both runs and reads the headers of the rounds to compare.
func openSides(ctx context.Context, opt *Options) (ref, npu *Side, mine *roundShare, err error) {
	err = runBoth(func() (err error) {
		if ref, err = listSide(ctx, opt, opt.Ref, opt.RefRounds, opt.StemOf(false)); err == nil {
			ref.serveAllRanks()
		}
		return err
	}, func() (err error) {
		npu, err = listSide(ctx, opt, opt.NPU, opt.NPURounds, opt.StemOf(true))
		return err
	})
	if err != nil {
		return nil, nil, nil, err
	}
	if err := opt.Groups.Check(npu.run.Rounds); err != nil {
		return nil, nil, nil, err
	}
	sharded := opt.findSharding(ref, npu)
	mine = opt.chooseRounds(ref, npu, sharded)
	err = runBoth(func() error { return ref.readHeaders(ctx, opt) }, func() error { return npu.readHeaders(ctx, opt) })
	if err == nil && sharded != nil {
		mine.sharding = sharded
		if sharded.openRanks(opt, npu); ref.FromTables || npu.FromTables {
			sharded.matchNames(ref, npu)
		} else {
			err = sharded.locateReference(ctx, opt, ref, npu)
		}
	}
	ref.dropListing()
	npu.dropListing()
	return ref, npu, mine, err
}

// runBoth runs both functions concurrently. If both fail it returns the error of the
// reference.
func runBoth(ref, npu func() error) error {
	done := make(chan error, 1)
	guard.Go(npu, func(err error) { done <- err })
	err := ref()
	return cmp.Or(err, <-done)
}

// Planner pairs the rounds and tensors of two sides.
type Planner struct {
	Pairs []Pair
	// OtherRounds names the rounds that Options.Pair.Rounds leaves out.
	OtherRounds []string
	// RefRounds and NPURounds are the rounds without a partner.
	RefRounds, NPURounds []*dumpdir.Round
	Warnings             []lang.Sentence

	options  *Options
	ref, npu *Side
	share    *roundShare // nil for all rounds
	sharding *sharding
	rounds   []*Round
	// otherRounds are the NPU rounds named in OtherRounds.
	otherRounds []*dumpdir.Round
	// olderBy has the earlier executions of a tensor within one round; the last execution
	// is paired.
	olderBy map[laterExecution][]int
	calls   []record.CallPair
	listed  *record.Listing
	// misplaced are unreadable files that belong to no operator.
	misplaced []misplacedFile
	// skipped indexes the lines of logs by tensor name; built on first use.
	skipped *filename.Index
}

// PlanSides pairs the tensors of two sides. The pairs are unordered until Sort.
func PlanSides(opt *Options, ref, npu *Side) *Planner { return planSides(opt, ref, npu, nil) }

// planSides is PlanSides for a share of the rounds, nil for all.
func planSides(opt *Options, ref, npu *Side, mine *roundShare) *Planner {
	p := &Planner{options: opt, ref: ref, npu: npu, share: mine, olderBy: map[laterExecution][]int{}}
	if mine != nil {
		p.sharding = mine.sharding
	}
	p.pairRounds()
	p.pairTensors()
	return p
}

// plan returns the plan of the pairs, in their order.
func (p *Planner) plan() *Plan {
	inventory := shard.NewInventory()
	for root, side := range []*Side{p.ref, p.npu} {
		inventory.Add(root, side.run.Listing(), 0, "")
	}
	plan := &Plan{Pairs: p.Pairs, Options: p.options, Rows: make([]record.Row, len(p.Pairs)), Rounds: p.rounds, Sharding: p.sharding,
		pools: []*tensorfile.Pool{p.ref.files, p.npu.files}, Calls: p.calls, Listed: p.listed, inventory: inventory.String(),
		otherFileCount: p.ref.otherFiles + p.npu.otherFiles, MayRecompute: p.npu.mayRecompute()}
	if config := p.options.SideFiles.OpConfig; config != nil {
		plan.Unused = config.FindUnused(pair.Names(p.ref.pairingNames, p.npu.pairingNames))
	}
	for i := range plan.Pairs {
		x := &plan.Pairs[i]
		plan.Rows[i] = *x.Row
		x.Row, x.isDecided = &plan.Rows[i], x.Row.Pair.Status != ""
	}
	return plan
}

// missingMapNames returns the names in the name map that are missing on their side.
func (p *Planner) missingMapNames() (all []lang.Sentence) {
	if m := p.options.SideFiles.NameMap; m != nil {
		for _, name := range m.Missing(p.ref.names(), p.npu.names()) {
			all = append(all, lang.Say("--map-node-dict: %s", name))
		}
	}
	return all
}

// CountOtherFiles counts the files of both runs that are neither dumps nor arrays.
func (p *Plan) CountOtherFiles() int { return p.otherFileCount }

// Listing returns the fingerprint of the listed files of both runs.
func (p *Plan) Listing() string { return p.inventory }

// CountReads counts the inputs that are read only to find their producers.
func (p *Plan) CountReads() (inputs int) {
	for i := range p.Pairs {
		inputs += len(p.Pairs[i].Reads)
	}
	return inputs
}

// HoldsWeights reports whether most names are names of weights, as checkpoints have them and dumps do not.
func (p *Plan) HoldsWeights() bool {
	n := 0
	for i := range p.Pairs {
		if name := p.Pairs[i].Row.Op; strings.HasSuffix(name, ".weight") || strings.HasSuffix(name, ".bias") {
			n++
		}
	}
	return 2*n > len(p.Pairs)
}

// Records returns the rounds for a report.
func (p *Plan) Records() []record.Round { return records(p.Rounds) }

func records(rounds []*Round) []record.Round {
	all := make([]record.Round, len(rounds))
	for i, r := range rounds {
		all[i] = r.Round
	}
	return all
}

// ClosePools closes the files that the pools keep open.
func (p *Plan) ClosePools() {
	for _, pool := range p.pools {
		pool.Close()
	}
}

// maxWorkers is the maximum of the default number of goroutines.
const maxWorkers = 16

// DefaultWorkers returns the default number of goroutines.
func DefaultWorkers() int { return min(store.Workers(), maxWorkers) }
