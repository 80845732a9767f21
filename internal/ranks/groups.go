package ranks

import (
	"cmp"
	"iter"
	"slices"
	"strconv"
	"strings"

	"dumptool/internal/dumpdir"
	"dumptool/internal/lang"
	"dumptool/internal/trace"
)

// Axis is an axis of the mesh: groups of Size ranks, Stride apart.
type Axis struct {
	// Size is the number of ranks of a group, Stride the distance of neighbours, 0 if it varies.
	Size   int `json:"size"`
	Stride int `json:"stride"`
	// Name is the name of the axis, such as tp, empty if unknown.
	Name string `json:"name,omitempty"`
	// Count is the number of such groups.
	Count int `json:"count,omitempty"`
}

// GroupList is a sorted list of different groups of ranks.
type GroupList [][]int

// newGroupList sorts groups and drops repetitions. Calls of a file share the memory of a group:
// comparing addresses first skips most repetitions.
func newGroupList(groups iter.Seq[[]int]) GroupList {
	var all GroupList
	seen := make(map[address]bool)
	for g := range groups {
		if at := addressOf(g); !seen[at] {
			seen[at] = true
			all = append(all, g)
		}
	}
	slices.SortFunc(all, slices.Compare)
	return slices.CompactFunc(all, slices.Equal)
}

// address identifies the memory of the members of a group.
type address struct {
	first *int
	n     int
}

func addressOf(group []int) address {
	if len(group) == 0 {
		return address{}
	}
	return address{&group[0], len(group)}
}

// NamedGroups returns the groups that communications name.
func (r *Run) NamedGroups() GroupList { return groupsOf(r.AllCalls()) }

// groupsOf returns the groups that the calls name.
func groupsOf(calls iter.Seq[*trace.Call]) GroupList {
	return newGroupList(func(yield func([]int) bool) {
		for c := range calls {
			if c.Comm != nil && c.Comm.Group != nil && !yield(c.Comm.Group) {
				return
			}
		}
	})
}

// Axes lists the different sizes and strides of groups, with the number of groups. Groups that are not evenly spaced
// have stride 0.
func (l GroupList) Axes() []Axis {
	var all []Axis
	for _, same := range trace.GroupBy(slices.Values(l), func(g []int) (Axis, bool) { return Axis{Size: len(g), Stride: strideOf(g)}, len(g) > 1 }) {
		all = append(all, Axis{Size: len(same[0]), Stride: strideOf(same[0]), Count: len(same)})
	}
	slices.SortFunc(all, func(a, b Axis) int { return cmp.Or(cmp.Compare(a.Stride, b.Stride), cmp.Compare(a.Size, b.Size)) })
	return all
}

// strideOf returns the distance of the ranks of a group, 0 if it varies.
func strideOf(g []int) int {
	stride := 0
	for i := 1; i < len(g); i++ {
		apart := g[i] - g[i-1]
		if i > 1 && apart != stride {
			return 0
		}
		stride = apart
	}
	return max(stride, 0)
}

// defaultOrder is the order of axes of Megatron, the fastest first.
var defaultOrder = []string{"tp", "cp", "ep", "dp", "pp"}

// ParseMesh parses a mesh such as tp=2,cp=2,dp=2,pp=2. The default order of axes is order=tp-cp-ep-dp-pp, the fastest
// axis first. An ep axis is a part of dp.
func ParseMesh(text string) ([]Axis, error) {
	order, sizes := defaultOrder, make(map[string]int)
	at := 1
	for part := range strings.SplitSeq(text, ",") {
		key, value, ok := strings.Cut(part, "=")
		key = strings.TrimSpace(key)
		n, err := strconv.Atoi(value)
		switch {
		case ok && key == "order":
			order = strings.Split(value, "-")
		case !ok || !slices.Contains(defaultOrder, key):
			return nil, lang.Errorf("column %d: found %.40q, want an axis such as tp=2 (%s) or order=tp-cp-ep-dp-pp", at, part, strings.Join(defaultOrder, ", "))
		case err != nil || n < 1:
			return nil, lang.Errorf("column %d: found the size %.40q of %s, want a number from 1", at+len(key)+1, value, key)
		case sizes[key] != 0:
			return nil, lang.Errorf("column %d: %s occurs twice", at, key)
		default:
			sizes[key] = n
		}
		at += len(part) + 1
	}
	return newMesh(order, sizes)
}

// newMesh makes a mesh from sizes by name; order has the fastest axis first. Axes without a size have one rank.
func newMesh(order []string, sizes map[string]int) ([]Axis, error) {
	var mesh []Axis
	stride := 1
	for i, name := range order {
		if !slices.Contains(defaultOrder, name) || slices.Contains(order[:i], name) {
			return nil, lang.Errorf("order: found %.40q, want %s, each once", name, strings.Join(defaultOrder, "-"))
		}
		n := sizes[name]
		if n <= 1 {
			continue
		}
		mesh = append(mesh, Axis{Size: n, Stride: stride, Name: name})
		if name != "ep" { // a part of dp, which comes next
			stride *= n
		}
	}
	for _, name := range defaultOrder {
		if sizes[name] > 1 && !slices.Contains(order, name) {
			return nil, lang.Errorf("order: found no %s, want every axis that has a size", name)
		}
	}
	return mesh, nil
}

// MeshError is the error of a mesh that does not fit the ranks.
type MeshError struct{ Err error }

// Error names the flag first.
func (e *MeshError) Error() string { return e.Text().String() }

// Text returns the error in both languages.
func (e *MeshError) Text() lang.Text { return lang.Say("%s: %v", lang.Say(FromMesh), e.Err).Text() }

// Check returns a *MeshError if the mesh does not fit the ranks of rounds.
func (g *Groups) Check(rounds []*dumpdir.Round) error {
	if g.Mesh == nil {
		return nil
	}
	if err := CheckMesh(g.Mesh, trace.RanksOf(rounds), GroupsOf(rounds)); err != nil {
		return &MeshError{err}
	}
	return nil
}

// CheckMesh returns an error if the mesh has another number of ranks than the dump, or if a named group does not lie
// along its axes. A dump with missing ranks (a larger rank exists or is a member of a group) may be part of a larger
// mesh.
func CheckMesh(mesh []Axis, ranks []int, groups GroupList) error {
	n, top := worldSize(mesh), slices.Max(slices.Concat(append(groups, ranks, []int{0})...))
	if n != len(ranks) && (top+1 == len(ranks) || n <= top) {
		return lang.Errorf("the axes make %d ranks, the dump has %d, up to rank %d", n, len(ranks), top)
	}
	for _, g := range groups {
		if !isMeshGroup(mesh, g) {
			return lang.Errorf("the dump has the group %s, which does not match these axes", trace.Ranges(g))
		}
	}
	return nil
}

// isMeshGroup reports whether a group has exactly the ranks that differ along some axes of a mesh.
func isMeshGroup(mesh []Axis, group []int) bool {
	n := 1
	for i, a := range mesh {
		size := a.Size
		if i+1 < len(mesh) && a.Name == "ep" { // the next axis, dp, is ep times the rest
			continue
		}
		values := make(map[int]bool)
		for _, rank := range group {
			values[rank/a.Stride%a.Size] = true
		}
		k := len(values)
		if k != 1 && k != size && (i == 0 || mesh[i-1].Name != "ep" || k != mesh[i-1].Size && k != size/mesh[i-1].Size) {
			return false
		}
		n *= k
	}
	return n == len(group)
}

// worldSize returns the number of ranks of a mesh.
func worldSize(mesh []Axis) int {
	n := 1
	for _, a := range mesh {
		if a.Name != "ep" {
			n *= a.Size
		}
	}
	return n
}

// ParseGroups parses lines such as NAME: 0,3,5. Empty lines and lines that begin with # are skipped.
func ParseGroups(text string) (map[string][]int, error) {
	groups := make(map[string][]int)
	namedBy := make(map[int]int) // the last line that names a rank
	number := 0
	for line := range strings.SplitSeq(text, "\n") {
		number++
		name, list, ok := strings.Cut(line, ":")
		start := strings.TrimSpace(line)
		name = strings.TrimSpace(name)
		switch {
		case start == "" || start[0] == '#':
			continue
		case !ok || name == "":
			return nil, lang.Errorf("line %d: found %.60q, want NAME: 0,3,5", number, start)
		case groups[name] != nil:
			return nil, lang.Errorf("line %d: the group %.60q occurs twice", number, name)
		}
		var group []int
		column := len(line) - len(list) + 1 // bytes, from 1
		for part := range strings.SplitSeq(list, ",") {
			digits := strings.TrimSpace(part)
			rank, err := strconv.Atoi(digits)
			if err != nil || rank < 0 || namedBy[rank] == number {
				return nil, lang.Errorf("line %d, column %d: found %.40q, want different ranks such as 0,3,5", number, column+strings.Index(part, digits), digits)
			}
			namedBy[rank] = number
			group = append(group, rank)
			column += len(part) + 1
		}
		groups[name] = group
	}
	return groups, nil
}
