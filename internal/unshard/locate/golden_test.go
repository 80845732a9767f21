package locate

import (
	"archive/tar"
	"bytes"
	"compress/gzip"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
	"path"
	"path/filepath"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"testing"
)

const golden = "../../../testdata/golden/ranks"

// files returns the files of a tree by path.
func files(t *testing.T, name string) map[string][]byte {
	t.Helper()
	in, err := os.Open(filepath.Join(golden, name, "trees.tar.gz"))
	if err != nil {
		t.Fatal(err)
	}
	defer in.Close()
	zip, err := gzip.NewReader(in)
	if err != nil {
		t.Fatal(err)
	}
	all := make(map[string][]byte)
	for tree := tar.NewReader(zip); ; {
		h, err := tree.Next()
		if errors.Is(err, io.EOF) {
			return all
		}
		if err != nil {
			t.Fatal(err)
		}
		if all[h.Name], err = io.ReadAll(tree); err != nil {
			t.Fatal(err)
		}
	}
}

// call is a call of a golden tree.
type call struct {
	name    string
	comm    bool
	tensors map[string]entry // by kind and place
	order   []string
}

type entry struct {
	file, digest string
}

// calls reads dump.json.
func calls(t *testing.T, text []byte) (all []call) {
	t.Helper()
	type leaf struct {
		MD5  string `json:"md5"`
		Data string `json:"data_name"`
	}
	var whole struct{ Data json.RawMessage }
	if err := json.Unmarshal(text, &whole); err != nil {
		t.Fatal(err)
	}
	in := json.NewDecoder(bytes.NewReader(whole.Data))
	token := func() json.Token {
		tok, err := in.Token()
		if err != nil {
			t.Fatal(err)
		}
		return tok
	}
	token()
	for in.More() {
		c := call{name: token().(string), tensors: map[string]entry{}}
		c.comm = strings.HasPrefix(c.name, "Distributed.")
		var e struct {
			Input      []json.RawMessage `json:"input_args"`
			Output     []json.RawMessage `json:"output"`
			Parameters map[string]leaf   `json:"parameters"`
		}
		if err := in.Decode(&e); err != nil {
			t.Fatal(err)
		}
		add := func(place string, text []byte) {
			var l leaf
			if json.Unmarshal(text, &l) == nil && l.Data != "" {
				c.tensors[place] = entry{l.Data, l.MD5}
				c.order = append(c.order, place)
			}
		}
		for i, x := range e.Input {
			add("input."+strconv.Itoa(i), x)
		}
		for name, l := range e.Parameters {
			c.tensors["parameters."+name] = entry{l.Data, l.MD5}
			c.order = append(c.order, "parameters."+name)
		}
		for i, x := range e.Output {
			add("output."+strconv.Itoa(i), x)
		}
		all = append(all, c)
	}
	return all
}

// array reads a .npy of float32 or int64.
func array(t *testing.T, data []byte) *Array {
	t.Helper()
	header := string(data[10 : 10+int(data[8])+int(data[9])<<8])
	body := data[10+len(header):]
	a := &Array{Shape: []int{}}
	shape := regexp.MustCompile(`'shape': \(([^)]*)\)`).FindStringSubmatch(header)[1]
	n := 1
	for part := range strings.SplitSeq(shape, ",") {
		if part = strings.TrimSpace(part); part != "" {
			d, err := strconv.Atoi(part)
			if err != nil {
				t.Fatal(err)
			}
			a.Shape = append(a.Shape, d)
			n *= d
		}
	}
	for i := range n {
		switch {
		case strings.Contains(header, "<f4"):
			a.Values = append(a.Values, math.Float32frombits(binary.LittleEndian.Uint32(body[4*i:])))
		case strings.Contains(header, "<i8"):
			a.Exact = true
			a.Values = append(a.Values, float32(int64(binary.LittleEndian.Uint64(body[8*i:]))))
		default:
			t.Fatal(header)
		}
	}
	if strings.Contains(header, "'fortran_order': True") && len(a.Shape) == 2 {
		values := slices.Clone(a.Values)
		for i := range a.Shape[0] {
			for j := range a.Shape[1] {
				a.Values[i*a.Shape[1]+j] = values[j*a.Shape[0]+i]
			}
		}
	}
	return a
}

var (
	layer  = regexp.MustCompile(`layers\.(\d+)\.`)
	expert = regexp.MustCompile(`local_experts\.(\d+)\.`)
)

func roleOf(name string) string {
	return expert.ReplaceAllString(layer.ReplaceAllString(name, "layers.*."), "local_experts.*.")
}

// tree is a golden tree: the calls of ranks in a step, and the files.
type tree struct {
	*testing.T
	files map[string][]byte
	calls map[string]map[int][]call // by side, then rank
	step  int
}

func openTree(t *testing.T, name string, step int) *tree {
	t.Helper()
	x := &tree{t, files(t, name), map[string]map[int][]call{"run": {}, "ref": {}}, step}
	for file, text := range x.files {
		var rank int
		side, rest, _ := strings.Cut(file, "/")
		if n, _ := fmt.Sscanf(rest, "step"+strconv.Itoa(step)+"/rank%d/", &rank); n == 1 && path.Base(file) == "dump.json" {
			x.calls[side][rank] = calls(t, text)
		}
	}
	return x
}

func (x *tree) load(side string, rank int, e entry) *Array {
	return array(x.T, x.files[fmt.Sprintf("%s/step%d/rank%d/dump_tensor_data/%s", side, x.step, rank, e.file)])
}

// locate learns the maps of a rank in a step as a comparison does: layers of a stage by the nearest norm, experts by
// the nearest weight, inputs of sums left out.
func (x *tree) locate(rank int) (got map[string]string, assumed map[string]bool) {
	ref := make(map[string]call)
	for _, c := range x.calls["ref"][0] {
		ref[c.name] = c
	}
	mine := x.calls["run"][rank]
	offset := x.offset(mine, rank)
	partial := make(map[string]bool)
	for _, c := range mine {
		if c.comm && (strings.Contains(c.name, "all_reduce") || strings.Contains(c.name, "reduce_scatter")) {
			for place, e := range c.tensors {
				if strings.HasPrefix(place, "input") {
					partial[e.digest] = true
				}
			}
		}
	}
	type instance struct {
		c  call
		of string
	}
	roles := make(map[string][]instance)
	got, assumed = make(map[string]string), make(map[string]bool)
	var order []string
	for pass := range 2 {
		for _, c := range mine {
			for _, place := range c.order {
				if strings.HasPrefix(place, "parameters") == (pass == 0) && !c.comm {
					key := roleOf(c.name) + " " + place
					if roles[key] == nil {
						order = append(order, key)
					}
					roles[key] = append(roles[key], instance{c, place})
				}
			}
		}
	}
	learner := new(Learner)
	for _, key := range order {
		var pairs []Pair
		shapes := map[string]bool{}
		sums := 0
		for _, in := range roles[key] {
			part := x.load("run", rank, in.c.tensors[in.of])
			shapes[fmt.Sprint(part.Shape)] = true
			name := layer.ReplaceAllStringFunc(in.c.name, func(s string) string {
				n, _ := strconv.Atoi(layer.FindStringSubmatch(s)[1])
				return fmt.Sprintf("layers.%d.", n+offset)
			})
			if expert.MatchString(name) {
				name = x.expert(name, in.c, rank, ref)
			}
			if partial[in.c.tensors[in.of].digest] && strings.HasPrefix(in.of, "output") {
				sums++
				continue
			}
			if e, ok := ref[name].tensors[in.of]; ok {
				pairs = append(pairs, Pair{part, x.load("ref", 0, e)})
			}
		}
		byToken := strings.Contains(key, "local_experts") && !strings.Contains(key, "parameters") || strings.HasSuffix(key, "Unpermute.forward.0 input.0")
		switch {
		case len(shapes) > 1 || byToken:
			got[key] = `"by token"`
		case sums > len(pairs):
			got[key] = `"partial"`
		default:
			r := learner.Learn(pairs)
			if !r.Found {
				got[key] = `"none"`
				continue
			}
			assumed[key] = r.Assumed
			got[key] = text(r.Axes)
		}
	}
	return got, assumed
}

// text formats a map like maps.json.
func text(axes []Index) string {
	all := make([]any, len(axes))
	for i, x := range axes {
		if x != nil {
			var runs [][2]int
			for _, r := range x.Runs() {
				runs = append(runs, [2]int{r.From, r.N})
			}
			all[i] = runs
		}
	}
	out, _ := json.Marshal(all)
	return string(out)
}

// offset returns the number of the first layer of a rank in the reference.
func (x *tree) offset(mine []call, rank int) int {
	var norms []*Array
	for _, c := range x.calls["ref"][0] {
		if strings.Contains(c.name, "input_layernorm") {
			norms = append(norms, x.load("ref", 0, c.tensors["parameters.weight"]))
		}
	}
	votes := map[int]int{}
	for _, c := range mine {
		if strings.Contains(c.name, "input_layernorm") {
			at, _ := Nearest(x.load("run", rank, c.tensors["parameters.weight"]), norms)
			n, _ := strconv.Atoi(layer.FindStringSubmatch(c.name)[1])
			votes[at-n]++
		}
	}
	best := 0
	for at, n := range votes {
		if n > votes[best] {
			best = at
		}
	}
	return best
}

// expert returns the name of a call with the number of the reference's expert.
func (x *tree) expert(name string, c call, rank int, ref map[string]call) string {
	var weights []*Array
	for e := 0; ; e++ {
		of, ok := ref[expert.ReplaceAllString(name, fmt.Sprintf("local_experts.%d.", e))]
		if !ok {
			break
		}
		weights = append(weights, x.load("ref", 0, of.tensors["parameters.weight"]))
	}
	at, far := Nearest(x.load("run", rank, c.tensors["parameters.weight"]), weights)
	if far > 0.5 {
		at = -1
	}
	return expert.ReplaceAllString(name, fmt.Sprintf("local_experts.%d.", at))
}

// TestMaps checks every index of every map of the golden runs.
func TestMaps(t *testing.T) {
	cases, err := filepath.Glob(filepath.Join(golden, "*", "maps.json"))
	if err != nil || len(cases) != 12 {
		t.Fatal(len(cases), err)
	}
	for _, file := range cases {
		name := filepath.Base(filepath.Dir(file))
		t.Run(name, func(t *testing.T) {
			data, err := os.ReadFile(file)
			if err != nil {
				t.Fatal(err)
			}
			var want map[string]json.RawMessage
			if err := json.Unmarshal(data, &want); err != nil {
				t.Fatal(err)
			}
			x := openTree(t, name, 0)
			all := 0
			for rank := range x.calls["run"] {
				got, assumed := x.locate(rank)
				for key, w := range want {
					r, key, _ := strings.Cut(key, " ")
					if r != strconv.Itoa(rank) {
						continue
					}
					all++
					if got[key] == string(w) || string(w) == `"none"` && assumed[key] {
						continue
					}
					t.Errorf("rank %d %s: %s, want %s", rank, key, got[key], w)
				}
			}
			if all != len(want) {
				t.Errorf("%d of %d maps were asked for", all, len(want))
			}
		})
	}
}
