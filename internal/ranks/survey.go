package ranks

import (
	"cmp"
	"slices"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// Survey summarises the communication of a run without reading tensors.
type Survey struct {
	// Groups are the groups that communications name, Axes their sizes and strides.
	Groups []Group `json:"groups"`
	Axes   []Axis  `json:"mesh"`
	// Calls counts the calls of all ranks by function.
	Calls []CallCount `json:"calls"`
	// Missing are members of groups that are not in the run.
	Missing []int `json:"missing"`
}

// CallCount is the number of calls of a function.
type CallCount struct {
	// API is the function, Count the number of its calls.
	API   string `json:"api"`
	Count int    `json:"count"`
}

// NewSurvey summarises the communications of rounds; nil without any.
func NewSurvey(rounds []*dumpdir.Round) *Survey {
	var named [][]int
	calls := make(map[string]int)
	for _, round := range rounds {
		for _, op := range round.Ops {
			name := trace.Communication(op)
			if name == "" {
				continue
			}
			calls[name]++
			if op.Call == nil {
				continue
			}
			if m := trace.NewComm(name, op.Call.Leaves, nil); m.Group != nil {
				named = append(named, m.Group)
			}
		}
	}
	if len(calls) == 0 {
		return nil
	}
	groups := newGroupList(slices.Values(named))
	s := &Survey{Groups: groups.withSource(FromDump), Axes: groups.Axes(), Missing: []int{}}
	for name, n := range calls {
		s.Calls = append(s.Calls, CallCount{name, n})
	}
	slices.SortFunc(s.Calls, func(a, b CallCount) int { return cmp.Or(cmp.Compare(b.Count, a.Count), strings.Compare(a.API, b.API)) })
	known := make(map[int]bool)
	for _, rank := range trace.RanksOf(rounds) {
		known[rank] = true
	}
	for _, g := range groups {
		for _, rank := range g {
			if !known[rank] {
				known[rank] = true
				s.Missing = append(s.Missing, rank)
			}
		}
	}
	slices.Sort(s.Missing)
	return s
}

// GroupsOf returns the groups that the communications of rounds name.
func GroupsOf(rounds []*dumpdir.Round) GroupList {
	s := NewSurvey(rounds)
	if s == nil {
		return nil
	}
	groups := make(GroupList, len(s.Groups))
	for i, g := range s.Groups {
		groups[i] = g.Ranks
	}
	return groups
}

// Sources of groups.
const (
	FromDump   = "ProcessGroup"
	FromMesh   = "--parallel"
	FromValues = "values"
)

// withSource returns the groups with their source.
func (l GroupList) withSource(source string) []Group {
	all := make([]Group, len(l))
	for i, g := range l {
		all[i] = Group{g, source}
	}
	return all
}

// AxesText lists axes: 2 groups of 2 (stride 1), 1 group of 4 (not evenly spaced).
func AxesText(axes []Axis) lang.Text {
	var all []lang.Sentence
	for _, a := range axes {
		spaced := lang.Say("stride %d", a.Stride)
		if a.Stride == 0 {
			spaced = lang.Say("not evenly spaced")
		}
		if a.Name != "" {
			spaced = lang.Say("%s, %s", a.Name, spaced)
		}
		all = append(all, lang.Say("%s of %d (%s)", lang.CountText(a.Count, "group"), a.Size, spaced))
	}
	return lang.Join(all, lang.Text{EN: ", "}).Text()
}
