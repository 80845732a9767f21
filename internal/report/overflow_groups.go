package report

import (
	"fmt"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/overflow"
)

// analysisGroups prints a line for each operator with records, and returns which
// record is the first; -1, and nothing is printed, where all are to be shown.
func (p *printer) analysisGroups(r *overflow.Report) int {
	if r.All || len(r.Records) <= maxShown {
		return -1
	}
	groups := r.Groups()
	p.line("", p.say("%s of %s, in the order of step and rank:", "共 %s，%s，按 step 和 rank 排列：", lang.CountText(r.Total, "overflow record", "条溢出记录"), count(len(groups), "operator", "算子")))
	p.groups(groups, func(g *overflow.Group) string {
		var statuses []string
		verdicts := make(map[overflow.Verdict]int)
		for _, i := range g.Members {
			if status := r.Records[i].StatusText(); !slices.Contains(statuses, status) {
				statuses = append(statuses, status)
			}
			verdicts[r.Records[i].Verdict]++
		}
		first := &r.Records[g.First()]
		return p.groupLine(p.op(first), g, first.At(), p.status(statuses), p.verdicts(verdicts))
	})
	return groups[0].First()
}

// scanGroups prints a line for each operator with rows, and returns which row is the
// first; -1, and nothing is printed, where all are to be shown.
func (p *printer) scanGroups(r *overflow.ScanReport) int {
	if r.All || len(r.Rows) <= maxShown {
		return -1
	}
	groups := r.Groups()
	p.line("", p.say("%s with bad tensors, in the order of step and rank:", "%s有异常张量，按 step 和 rank 排列：", count(len(groups), "operator", "算子")))
	p.groups(groups, func(g *overflow.Group) string {
		verdicts := make(map[overflow.Verdict]int)
		for _, i := range g.Members {
			verdicts[r.Rows[i].Verdict]++
		}
		first := &r.Rows[g.First()]
		return p.groupLine(opText(first.OpType, first.OpName), g, first.At(), "", p.verdicts(verdicts))
	})
	return groups[0].First()
}

// groups prints a line for each of the first groups.
func (p *printer) groups(groups []overflow.Group, line func(*overflow.Group) string) {
	for i := range groups[:min(maxGroups, len(groups))] {
		p.line(textIndent, line(&groups[i]))
	}
	if n := len(groups) - maxGroups; n > 0 {
		p.line(textIndent, p.say("%s more", "另有 %s", count(n, "operator", "算子")))
	}
}

// groupLine says how often an operator is there, and on which ranks and steps.
func (p *printer) groupLine(name string, g *overflow.Group, first dumpdir.Coordinates, status, verdict string) string {
	from := ""
	if len(g.Ranks) > 1 || len(g.Steps) > 1 {
		rank, step := behind("rank ", first.Rank), behind("step ", first.Step)
		if rank != "" && step != "" {
			rank += " "
		}
		from = p.say("first ", "最早 ") + rank + step
	}
	places := p.join(p.listed(g.Ranks, "rank"), p.listed(g.Steps, "step"), from, status, verdict)
	return name + fmt.Sprintf(p.say("  %d x: ", "  %d 次："), len(g.Members)) + places
}

// listed lists ranks or steps, runs of them put together.
func (p *printer) listed(values []string, noun string) string {
	if len(values) > 1 && p.Lang != Chinese {
		noun += "s"
	}
	return behind(noun+" ", lang.Ranges(values))
}

// status lists statuses.
func (p *printer) status(words []string) string {
	const most = 3
	text := strings.Join(words[:min(most, len(words))], ", ")
	if text == "" {
		text = p.say("lost", "丢失")
	}
	if len(words) > most {
		text += ", ..."
	}
	return p.say("status ", "状态 ") + text
}

// verdicts lists verdicts, and how often each is there where they differ.
func (p *printer) verdicts(counts map[overflow.Verdict]int) string {
	var all []string
	for _, v := range []overflow.Verdict{overflow.ProducedHere, overflow.CameIn, overflow.CameFromRank, overflow.ProcessOverflow, overflow.CannotTell} {
		switch n := counts[v]; {
		case n == 0:
		case len(counts) == 1:
			all = append(all, p.verdict(v))
		default:
			all = append(all, fmt.Sprintf(p.say("%s %d x", "%s %d 次"), p.verdict(v), n))
		}
	}
	return p.join(all...)
}
