package compare

import (
	"cmp"
	"context"
	"fmt"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/batch"
	"dumptool/internal/compare/conclude"
	"dumptool/internal/compare/plan"
	"dumptool/internal/compare/record"
	"dumptool/internal/dumpdir"
	"dumptool/internal/filename"
	"dumptool/internal/lang"
)

// NewDetail plans the comparison of the selected operator, which is the only entry of opt.Pair.Ops. If no operator
// has this name, NewDetail selects the only operator whose name ends with it.
func NewDetail(ctx context.Context, opt conclude.Options, s Selector) (*Run, error) {
	plan, err := New(ctx, opt)
	if err != nil || len(plan.Pairs) > 0 {
		return plan, err
	}
	opt.Pair.Ops = nil
	all, err := New(ctx, opt)
	if err != nil {
		return nil, err
	}
	name, ok := onlyWithSuffix(all.Plan, s.Op)
	if !ok {
		return plan, nil
	}
	if opt.Pair.Ops, err = dumpdir.NewNameSet([]string{name}); err != nil {
		return nil, err
	}
	return New(ctx, opt)
}

// onlyWithSuffix returns the name of the only operator whose name ends with the suffix.
func onlyWithSuffix(p *plan.Plan, suffix string) (string, bool) {
	found := map[string]bool{}
	for i := range p.Pairs {
		row := p.Pairs[i].Row
		if endsWith(row.Op, suffix) || endsWith(row.NPUOp, suffix) {
			found[cmp.Or(row.Op, row.NPUOp)] = true
		}
	}
	for name := range found {
		return name, len(found) == 1
	}
	return "", false
}

// endsWith reports whether a name ends with all parts of a suffix: x_conv ends with conv, xconv does not.
func endsWith(name, suffix string) bool {
	name, suffix = filename.Normalise(name), filename.Normalise(suffix)
	before, found := strings.CutSuffix(name, suffix)
	return found && suffix != "" && strings.ContainsAny(before[max(0, len(before)-1):], "_-")
}

// DetailOutcome returns the outcome for the selected tensors in a report.
func (p *Run) DetailOutcome(ctx context.Context, s Selector, rep *record.Report) batch.Outcome {
	found, failed, unread := 0, 0, 0
	for _, row := range rep.AllRows() {
		if !s.Has(row) {
			continue
		}
		found++
		switch {
		case row.Status == record.Error:
			unread++
		case row.Status.IsBad():
			failed++
		}
	}
	switch {
	case found == 0:
		o := batch.Outcomef(batch.Nothing, "no tensor is called %s", s)
		o.Hint = p.suggest(ctx, s, rep)
		return o
	case unread > 0:
		return batch.Outcomef(batch.Incomplete, "%s could not be read", lang.CountText(unread, "tensor"))
	case failed > 0 && !p.opt.ExitZero:
		return batch.Outcomef(batch.Found, "%s failed", lang.CountText(failed, "tensor")).AsShown()
	}
	return batch.Outcome{}
}

// nearNames is the maximum number of names in a hint.
const nearNames = 3

// suggest returns a hint for a selector that matches no tensor: the other tensors of the operator, or operators with
// a similar name.
func (p *Run) suggest(ctx context.Context, s Selector, rep *record.Report) lang.Sentence {
	var near []string
	for i := range rep.Len() {
		near = append(near, rep.Row(i).Name())
	}
	if len(near) > 0 {
		return lang.Say("the operator has %s", strings.Join(near[:min(len(near), nearNames)], ", "))
	}
	names, err := operatorNames(ctx, *p.opt)
	if err != nil {
		return lang.Sentence{}
	}
	if len(names) == 0 {
		return conclude.NothingCompared(rep, p.opt.Pair.Rounds).Hint
	}
	if near = nearestNames(s.String(), names); len(near) == 0 {
		return lang.Say("operators have names like %s", names[0])
	}
	return lang.Say("did you mean %s?", strings.Join(near, ", "))
}

// operatorNames lists the names of all operators on both sides.
func operatorNames(ctx context.Context, opt conclude.Options) ([]string, error) {
	opt.Pair.Ops = nil
	plan, err := New(ctx, opt)
	if err != nil {
		return nil, err
	}
	var names []string
	seen := map[string]bool{"": true}
	for i := range plan.Pairs {
		for _, name := range []string{plan.Pairs[i].Row.Op, plan.Pairs[i].Row.NPUOp} {
			if !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
	}
	return names, nil
}

// nearestNames returns the names most similar to a word, the nearest first: names that contain it, else names within a
// small edit distance.
func nearestNames(word string, names []string) []string {
	type candidate struct {
		name string
		far  int
	}
	var found []candidate
	plain := strings.ToLower(filename.Normalise(word))
	for _, name := range names {
		other := strings.ToLower(filename.Normalise(name))
		far := lang.Distance(plain, other)
		if strings.Contains(other, plain) {
			far = 0
		}
		if far <= max(2, len(plain)/4) {
			found = append(found, candidate{name, far})
		}
	}
	slices.SortStableFunc(found, func(a, b candidate) int {
		if a.far != b.far {
			return a.far - b.far
		}
		return lang.CompareNatural(a.name, b.name)
	})
	var near []string
	for _, c := range found[:min(len(found), nearNames)] {
		if c.far == 0 || found[0].far > 0 {
			near = append(near, c.name)
		}
	}
	return near
}

// Selector selects one tensor of an operator, or all its tensors.
type Selector struct {
	Op string
	// Kind is input or output, empty for all tensors; Index is the tensor's number within its kind.
	Kind  string
	Index int
}

// ParseSelector reads OP, or OP:output:K, or OP:input:K.
func ParseSelector(text string) Selector {
	parts := strings.Split(text, ":")
	if n := len(parts); n >= 3 && (parts[n-2] == "output" || parts[n-2] == "input") {
		if k, err := strconv.Atoi(parts[n-1]); err == nil && k >= 0 {
			return Selector{Op: strings.Join(parts[:n-2], ":"), Kind: parts[n-2], Index: k}
		}
	}
	return Selector{Op: text}
}

// String returns the selector as ParseSelector reads it.
func (s Selector) String() string {
	if s.Kind == "" {
		return s.Op
	}
	return fmt.Sprintf("%s:%s:%d", s.Op, s.Kind, s.Index)
}

// Has reports whether a row of the selected operator is a selected tensor. It ignores the operator's name.
func (s Selector) Has(row *record.Row) bool {
	return s.Kind == "" || s.Kind == row.Kind && s.Index == row.Output
}
