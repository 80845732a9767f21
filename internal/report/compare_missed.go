package report

import (
	"slices"
	"strings"

	"dumptool/internal/compare/record"
)

// sameOperator is the rows of an operator that have a status: the first of them, how many
// there are, and in which rounds, as they stand beside each other.
type sameOperator struct {
	*record.Row
	count  int
	rounds []string
}

// byOperator groups the rows of some statuses by operator and status.
func byOperator(r *record.Report, statuses ...record.Status) []sameOperator {
	type key struct {
		op     string
		status record.Status
	}
	var all []sameOperator
	index := map[key]int{}
	for _, row := range r.All() {
		if !slices.Contains(statuses, row.Status) {
			continue
		}
		k := key{row.Op, row.Status}
		at, seen := index[k]
		if !seen {
			at = len(all)
			index[k] = at
			all = append(all, sameOperator{Row: row})
		}
		o := &all[at]
		if o.count++; len(o.rounds) == 0 || o.rounds[len(o.rounds)-1] != row.Round {
			o.rounds = append(o.rounds, row.Round)
		}
	}
	return all
}

// placer says where the rows of operators are, in a run of several rounds.
type placer struct {
	Text
	networks []network
	rounds   map[string]*record.Round
}

func (t Text) placer(r *record.Report) *placer {
	p := &placer{t, networksOf(r.Rounds), map[string]*record.Round{}}
	for i := range r.Rounds {
		p.rounds[r.Rounds[i].Name] = &r.Rounds[i]
	}
	return p
}

// of counts the rows and names their rounds; it is empty for one row of a run with one
// round.
func (p *placer) of(o sameOperator) string {
	count, where := "", ""
	if o.count > 1 {
		count = p.Lang.Text(tensors(o.count))
	}
	var at []*record.Round
	for _, name := range o.rounds {
		if round := p.rounds[name]; round != nil && (len(at) == 0 || at[len(at)-1] != round) {
			at = append(at, round)
		}
	}
	if len(p.rounds) > 1 && len(at) > 0 {
		where = p.placesOf(p.networks, at)
	}
	return p.join(count, where)
}

// problemFacts list the operators that should have been compared and were not. What
// decides about ambiguous ones is said once.
func (t Text) problemFacts(r *record.Report) []fact {
	missed := byOperator(r, record.ShapeMismatch, record.DTypeMismatch, record.Ambiguous, record.Error)
	if len(missed) == 0 {
		return nil
	}
	places, explained := t.placer(r), false
	lines := firstOf(t, missed, compareWorst, func(o sameOperator) string {
		row := o.Row
		why := t.whyNot(row)
		if row.Status == record.Ambiguous {
			if explained { // the files are those of the first
				why, _, _ = strings.Cut(why, t.say(": ", "："))
			}
			explained = true
		}
		return titleOf(row) + t.say(": ", "：") + t.join(string(row.Status), places.of(o), why)
	})
	if ambiguous := byOperator(r, record.Ambiguous); len(ambiguous) > 0 {
		lines = append(lines, t.say("--map-node-dict decides which tensors belong together: --map-node-dict '{%q:%q}'",
			"用 --map-node-dict 指定对应关系：--map-node-dict '{%q:%q}'", ambiguous[0].Op, "NPU_NAME"))
	}
	return []fact{{label: t.say("Not compared", "未能比对"), lines: lines}}
}
