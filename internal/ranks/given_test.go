package ranks

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
	"testing"

	"pgregory.net/rapid"

	"dumptool/internal/dumptest/ranktest"
	"dumptool/internal/tensor"
	"dumptool/internal/trace"
	"dumptool/internal/unshard"
)

// fed is a run of ranks that read parts of integers, and its reference.
type fed struct {
	whole [][]int32 // by step: concatenated samples
	parts map[int][][]int
	size  int // of a sample
}

// given judges the data of some ranks in some steps.
func (f *fed) given(t *rapid.T, ranks, steps []int) []string {
	var run ranktest.Built
	var all []*unshard.RankContents
	for i, step := range steps {
		var ref ranktest.Built
		read := func(b *ranktest.Built, rank int, samples [][]int32) {
			var values []int32
			for _, s := range samples {
				values = append(values, s...)
			}
			in := ranktest.IntTensor(tensor.Shape{int64(len(samples)), int64(len(samples[0]))}, values)
			b.Call(0, rank, "Module.embedding.Embedding.forward.0", &trace.Call{In: []*trace.Tensor{in}})
		}
		samples := slices.Collect(slices.Chunk(f.whole[step], f.size))
		read(&ref, 0, samples)
		one := ranktest.Built{}
		for _, rank := range ranks {
			of := f.parts[rank][step]
			sample, mine := of[0], []int32{}
			for _, at := range of[1:] {
				mine = append(mine, samples[sample][at])
			}
			read(&one, rank, [][]int32{mine})
		}
		s := one.Steps[0]
		s.At.Step = strconv.Itoa(step)
		run.Steps = append(run.Steps, s)
		trace.New([]*trace.Step{s})
		located, err := unshard.Locate(t.Context(), s, ref.Steps[0], nil, false, 0, 0)
		if err != nil {
			t.Fatal(err)
		}
		s.Index = i
		all = append(all, &located.Given)
	}
	var found []string
	for _, x := range runOf(&run).FindMisplaced(all) {
		if x.refuted {
			continue
		}
		who := append([]int{x.Rank}, x.Alt...)
		slices.Sort(who)
		found = append(found, fmt.Sprint(x.call.Step.At.Step, " ", who, " ", x.Kind))
	}
	return found
}

// zigzag returns the positions of a rank in a context that is split into balanced halves: chunk rank and its mirror
// image.
func zigzag(size, ranks, rank int) (at []int) {
	n := size / (2 * ranks)
	for k := range n {
		at = append(at, rank*n+k)
	}
	for k := range n {
		at = append(at, (2*ranks-1-rank)*n+k)
	}
	return at
}

// drawFed draws a run of two steps with split contexts of few or many words.
func drawFed(t *rapid.T) *fed {
	contexts, samples, words := rapid.SampledFrom([]int{2, 4}).Draw(t, "contexts"), rapid.IntRange(1, 2).Draw(t, "samples"), rapid.SampledFrom([]int{2, 40, 1 << 20}).Draw(t, "words")
	f := &fed{size: 32, parts: make(map[int][][]int)}
	for range 2 {
		f.whole = append(f.whole, rapid.SliceOfN(rapid.Int32Range(0, int32(words)), samples*f.size, samples*f.size).Draw(t, "words of a step"))
	}
	for rank := range contexts * samples {
		part := append([]int{rank / contexts}, zigzag(f.size, contexts, rank%contexts)...)
		f.parts[rank] = [][]int{part, part}
	}
	return f
}

func upTo(n int) (all []int) {
	for i := range n {
		all = append(all, i)
	}
	return all
}

// TestPartsOfData: ranks that read their own parts cause no finding, whatever words repeat, nor does a run without
// some of the ranks.
func TestPartsOfData(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFed(t)
		ranks := rapid.SliceOfNDistinct(rapid.IntRange(0, len(f.parts)-1), 1, len(f.parts), rapid.ID).Draw(t, "ranks")
		slices.Sort(ranks)
		if found := f.given(t, ranks, []int{0, 1}); len(found) > 0 {
			t.Error(found)
		}
	})
}

// TestWrongPart: a rank that reads another part than its own is named, also without a third rank or with renumbered
// ranks. Without the step in which it was right, it is one of at most two suspects.
func TestWrongPart(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		f := drawFed(t)
		for i := range f.whole { // different words
			for k := range f.whole[i] {
				f.whole[i][k] = int32(100*i + k)
			}
		}
		ranks := upTo(len(f.parts))
		wrong := rapid.SampledFrom(ranks).Draw(t, "wrong rank")
		mine := f.parts[wrong][0]
		n := len(mine) - 1
		contiguous := []int{mine[0]}
		for k := range n {
			contiguous = append(contiguous, (mine[1]/n*n+k+n)%f.size)
		}
		f.parts[wrong] = [][]int{mine, contiguous}
		want := []string{fmt.Sprint("1 [", wrong, "] ", WrongPart)}
		if found := f.given(t, ranks, []int{0, 1}); !slices.Equal(found, want) {
			t.Errorf("%v, want %v", found, want)
		}
		for _, found := range f.given(t, ranks, []int{1}) {
			if !strings.Contains(found, strconv.Itoa(wrong)) {
				t.Errorf("%v without step 0, want %v among them", found, wrong)
			}
		}
		for _, gone := range ranks {
			less := slices.DeleteFunc(slices.Clone(ranks), func(rank int) bool { return rank == gone })
			if found := f.given(t, less, []int{0, 1}); len(found) > 0 && !slices.Equal(found, want) {
				t.Errorf("%v without rank %d, want %v or nothing", found, gone, want)
			}
		}
		swapped := &fed{whole: f.whole, size: f.size, parts: make(map[int][][]int)}
		for rank, part := range f.parts {
			swapped.parts[len(ranks)-1-rank] = part
		}
		want = []string{fmt.Sprint("1 [", len(ranks)-1-wrong, "] ", WrongPart)}
		if found := swapped.given(t, ranks, []int{0, 1}); !slices.Equal(found, want) {
			t.Errorf("%v under other numbers, want %v", found, want)
		}
	})
}

// held returns the experts of ranks; layers lists, for each layer, the experts of each rank.
func held(layers ...[][]int) (*Run, *unshard.RankContents) {
	s, g := &trace.Step{Calls: make(map[int][]*trace.Call)}, &unshard.RankContents{}
	for layer, ranks := range layers {
		for rank, experts := range ranks {
			for e, at := range experts {
				c := &trace.Call{Rank: rank, Step: s, Name: fmt.Sprint("layers.", layer, ".experts.", e)}
				s.Calls[rank] = append(s.Calls[rank], c)
				g.Experts = append(g.Experts, &unshard.Expert{Call: c, Layer: fmt.Sprint("layers.", layer), Number: at, Count: 4})
			}
		}
	}
	return newRun(trace.New([]*trace.Step{s}), nil), g
}

// TestWrongExperts: the wrong rank is the rank with too often held experts that holds others in other layers, else
// the rank whose experts do not fit its position.
func TestWrongExperts(t *testing.T) {
	a, b, unknown := []int{0, 1}, []int{2, 3}, []int{-1, 1}
	for _, c := range []struct {
		name   string
		layers [][][]int
		ranks  []int // all ranks, if the dump has more
		want   string
	}{
		{"as it should be", [][][]int{{a, b, a, b}, {a, b, a, b}}, nil, ""},
		{"in another order", [][][]int{{b, a}, {b, a}}, nil, ""},
		{"one layer", [][][]int{{b, b}}, nil, "layers.0.experts.0 rank 0 medium"},
		{"one layer, the second rank", [][][]int{{a, b, a, a}}, nil, "layers.0.experts.0 rank 3 medium"},
		{"right elsewhere", [][][]int{{b, a, b, a}, {b, a, a, a}, {b, a, b, a}}, nil, "layers.1.experts.0 rank 2 high"},
		{"an expert that is none of the reference", [][][]int{{unknown, b}}, nil, ""},
		{"a rank with fewer", [][][]int{{a, a[:1]}}, nil, ""},
		{"ranks that are not there", [][][]int{{a, a, b}}, upTo(4), ""},
		{"ranks that do not add up", [][][]int{{a, a, b}}, nil, ""},
	} {
		r, g := held(c.layers...)
		if c.ranks != nil {
			r.programOf(r.Steps[0]).extendWorld(c.ranks)
		}
		got := ""
		for _, f := range r.wrongExperts(g) {
			got += fmt.Sprintf("%s rank %d %s", f.call.Name, f.Rank, f.Confidence)
			if len(f.Alt) > 0 {
				t.Errorf("%s: or %v", c.name, f.Alt)
			}
		}
		if got != c.want {
			t.Errorf("%s: %q, want %q", c.name, got, c.want)
		}
	}
}
