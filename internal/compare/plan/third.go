package plan

import (
	"context"
	"slices"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
)

// addThird sets the third tensor of the pairs, from the third result or the second
// reference, which is paired with the reference like the NPU side.
func (p *Planner) addThird(ctx context.Context) error {
	path, flag := p.options.Third, "--third"
	if path == "" {
		path, flag = p.options.Second, "--noise"
	}
	if path == "" {
		return nil
	}
	opt := *p.options
	opt.NPU = path
	// Only rounds that pair with a compared round of the reference are read.
	side, err := listSide(ctx, &opt, path, dumpdir.Selection{}, dumpdir.Stem{})
	if err != nil {
		return err
	}
	side.ownRounds = map[*dumpdir.Round]bool{}
	all, chosen := opt.pairRounds(nil, p.ref.rounds, side.rounds)
	for _, i := range chosen {
		if x := all.Pairs[i]; p.ref.isOwn(x.Ref) {
			side.ownRounds[x.NPU] = true
		}
	}
	if err = side.readHeaders(ctx, &opt); err == nil {
		err = side.CheckTensors()
	}
	if err != nil {
		return err
	}
	paired := PlanSides(&opt, p.ref, side)
	for _, w := range side.Warnings {
		p.Warnings = append(p.Warnings, lang.Say("%s: %s", flag, w))
	}
	found := map[int][]*Pair{}
	for i := range paired.Pairs {
		if x := &paired.Pairs[i]; x.Ref != nil && x.NPU != nil && x.Row.Pair.Status == "" {
			found[x.Ref.ID] = append(found[x.Ref.ID], x)
		}
	}
	for i := range p.Pairs {
		if x := &p.Pairs[i]; x.Ref != nil && x.NPU != nil {
			x.Third = findThird(x, found[x.Ref.ID])
		}
	}
	return nil
}

// findThird returns the third tensor of a pair: the only candidate, or the only candidate of the
// same round; else nil.
func findThird(x *Pair, candidates []*Pair) *Tensor {
	if len(candidates) > 1 {
		candidates = slices.DeleteFunc(slices.Clone(candidates), func(c *Pair) bool { return c.Row.RoundCoordinates != x.Row.RoundCoordinates })
	}
	if len(candidates) != 1 {
		return nil
	}
	return candidates[0].NPU
}
