// Package checkpoint compares two sets of weights: whether they hold the same model, and which tensor of one is
// which tensor of the other. Compare is the start. Tensors are paired by their contents, line by line: digests of
// rows and columns find weights that were renamed, transposed, concatenated or divided (match.go), and every line
// whose digest does not prove it is compared element by element (verify.go). It reads no dumps and knows no noise:
// elements are equal, or equal after one rounding to the coarser type, or different.
package checkpoint

import (
	"cmp"
	"errors"
	"io/fs"
	"maps"
	"regexp"
	"slices"
	"strings"

	"dumptool/internal/jsonpos"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// side is one set of weights.
type side struct {
	path     string
	files    []*tensorfile.File
	tensors  []*weight
	problems []Problem
	// adapter is a folder with an adapter (LoRA), empty for none. isAdapter: the side has an adapter and no weights.
	adapter   string
	isAdapter bool
}

func (s *side) close() {
	for _, f := range s.files {
		_ = f.Close() // only read
	}
}

// fail records an unreadable file or tensor.
func (s *side) fail(file, name string, err error) {
	s.problems = append(s.problems, Problem{File: file, Tensor: name, Reason: lang.Error(err)})
}

// unsupported are kinds of checkpoints that are recognised and not read: by the end of a file name, or by the end of
// the name of a tensor.
var unsupported = []struct {
	files, tensors []string
	why            error
}{
	{files: []string{".distcp"}, why: lang.Errorf("a distributed checkpoint of PyTorch (.distcp): convert it by torch.distributed.checkpoint.format_utils first")},
	{files: []string{"_optim_states.pt"}, why: lang.Errorf("a checkpoint of ZeRO: run its zero_to_fp32.py first")},
	{files: []string{".gguf"}, why: lang.Errorf("a GGUF file: compare the model that it was made of")},
	{tensors: []string{".qweight", ".qzeros", ".g_idx"}, why: lang.Errorf("quantised weights of GPTQ or AWQ: compare the model that they were made of")},
}

// open opens a set of weights: a file, a folder with an index.json, a folder of files, or Megatron's folders of
// ranks.
func open(root string) (*side, error) {
	s := &side{path: root}
	info, err := store.Stat(root)
	if err != nil {
		return nil, err
	}
	if !info.IsDir() {
		if strings.HasSuffix(root, ".index.json") {
			return s, s.openIndex(root)
		}
		if s.isAdapter = strings.HasPrefix(store.Base(root), adapterModel); s.isAdapter {
			s.adapter = store.Dir(root)
		}
		s.add(root, "", nil)
		return s, s.check()
	}
	dir, names, err := s.findFolder(root)
	if err != nil {
		return nil, err
	}
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, ".index.json") }); i >= 0 {
		return s, cmp.Or(s.openIndex(store.Join(dir, names[i])), s.check())
	}
	for _, name := range names {
		prefix := ""
		if rank, _, ok := strings.Cut(name, "/"); ok {
			prefix = rank + "/"
		}
		s.add(store.Join(dir, name), prefix, nil)
	}
	return s, s.check()
}

// check fails if nothing was found, or if two tensors have one name.
func (s *side) check() error {
	if len(s.tensors)+len(s.problems) == 0 {
		return lang.Errorf("%s: no weights found, want .safetensors, .pt, .bin, a folder with index.json, or mp_rank folders", s.path)
	}
	seen := map[string]*weight{}
	for _, t := range s.tensors {
		if first := seen[t.name]; first != nil {
			s.fail(t.file, t.name, lang.Errorf("%s has the tensor too", first.file))
		}
		seen[t.name] = t
	}
	return nil
}

// mpRank is the name of Megatron's folder of a rank: tensor parallel rank, and with several stages the stage.
var mpRank = regexp.MustCompile(`^mp_rank_\d+(_\d+)*$`)

// weightFiles are the endings of files with weights. A folder with files of the first ending is not searched for the
// others.
var weightFiles = []string{".safetensors", ".bin", ".pt", ".pth", ".ckpt", ".npz"}

// findFolder finds the folder with the weights below root, and its files: an index, files of weights, or files in
// folders of ranks. Megatron has a folder for each iteration, and names the last one in a file.
func (s *side) findFolder(root string) (dir string, names []string, err error) {
	if text, err := safefile.ReadFile(store.Join(root, "latest_checkpointed_iteration.txt")); err == nil {
		last := strings.TrimSpace(string(text))
		if last != "release" {
			last = "iter_" + strings.Repeat("0", max(0, 7-len(last))) + last
		}
		root = store.Join(root, last)
	}
	entries, err := store.ReadDir(root)
	if err != nil {
		return "", nil, err
	}
	var ranks []string
	for _, e := range entries {
		switch name := e.Name(); {
		case e.IsDir() && mpRank.MatchString(name):
			ranks = append(ranks, name)
		case !e.IsDir():
			names = append(names, name)
		}
	}
	if slices.Contains(names, adapterConfig) {
		adapters := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasPrefix(n, adapterModel) })
		names = slices.DeleteFunc(names, func(n string) bool { return strings.HasPrefix(n, adapterModel) })
		s.adapter = root
		if s.isAdapter = !slices.ContainsFunc(names, func(n string) bool {
			return hasEnding(n, []string{".safetensors", ".index.json"}) || strings.HasPrefix(n, "pytorch_model")
		}); s.isAdapter { // what a trainer saves with it is no weights
			return root, adapters, nil
		}
	}
	if i := slices.IndexFunc(names, func(n string) bool { return strings.HasSuffix(n, ".index.json") }); i >= 0 {
		return root, names[i : i+1], nil
	}
	for _, rank := range ranks {
		files, err := store.ReadDir(store.Join(root, rank))
		if err != nil {
			return "", nil, err
		}
		for _, f := range files {
			if strings.HasSuffix(f.Name(), ".pt") {
				names = append(names, rank+"/"+f.Name())
			}
		}
	}
	for _, kind := range unsupported {
		if i := slices.IndexFunc(names, func(n string) bool { return hasEnding(n, kind.files) }); i >= 0 {
			return "", nil, lang.Errorf("%s: %w", store.Join(root, names[i]), kind.why)
		}
	}
	for _, end := range weightFiles {
		if found := slices.DeleteFunc(slices.Clone(names), func(n string) bool { return !strings.HasSuffix(n, end) }); len(found) > 0 {
			return root, found, nil
		}
	}
	return root, nil, nil
}

func hasEnding(name string, endings []string) bool {
	return slices.ContainsFunc(endings, func(end string) bool { return strings.HasSuffix(name, end) })
}

// add opens a file and adds its weights, with a prefix before their names. Unless names is nil, the file must have
// exactly these tensors.
func (s *side) add(file, prefix string, names []string) {
	f, err := tensorfile.Open(file, tensorfile.Options{Checkpoint: true, Whole: true})
	if err != nil {
		s.fail(file, "", err)
		return
	}
	s.files = append(s.files, f)
	state := ""
	for i := range f.Tensors {
		if t := &f.Tensors[i]; len(t.Path) > 1 && (t.Path[0] == "state_dict" || strings.HasPrefix(t.Path[0], "model")) {
			state = t.Path[0]
			break
		}
	}
	listed := map[string]bool{}
	for _, name := range names {
		listed[name] = true
	}
	for i := range f.Tensors {
		t := &f.Tensors[i]
		name := t.Name
		if state != "" {
			if t.Path[0] != state && !strings.HasPrefix(t.Path[0], "model") {
				continue // the optimiser
			}
			name = strings.Join(t.Path[1:], ".")
			if t.Path[0] != state {
				name = t.Path[0] + "." + name
			}
		}
		w := newWeight(file, prefix+cmp.Or(name, store.Base(file)), t)
		if names != nil && !listed[w.name] {
			s.fail(file, w.name, lang.Errorf("the index does not list it in this file"))
		}
		delete(listed, w.name)
		if w.err != nil {
			s.fail(file, w.name, w.err)
			continue
		}
		s.tensors = append(s.tensors, w)
	}
	for _, name := range slices.Sorted(maps.Keys(listed)) {
		s.fail(file, name, lang.Errorf("the index lists it in this file, which does not have it"))
	}
	for _, kind := range unsupported {
		if i := slices.IndexFunc(s.tensors, func(t *weight) bool { return hasEnding(t.name, kind.tensors) }); i >= 0 {
			s.fail(file, s.tensors[i].name, kind.why)
			s.tensors = nil
		}
	}
}

// openIndex opens the files that an index lists: its weight_map has a file for each tensor.
func (s *side) openIndex(index string) error {
	text, err := safefile.ReadFile(index)
	if err != nil {
		return err
	}
	files := map[string][]string{}
	at := map[string]string{}
	r := jsonpos.ReaderOf(text)
	err = r.Object(func(key string) error {
		if key != "weight_map" {
			return r.Skip()
		}
		return r.Object(func(name string) error {
			var file string
			if err := r.Decode(&file); err != nil {
				return err
			}
			if first, twice := at[name]; twice {
				s.fail(index, name, lang.Errorf("listed twice, in %s and %s", first, file))
				return nil
			}
			at[name], files[file] = file, append(files[file], name)
			return nil
		})
	})
	if err != nil {
		return safefile.WithPath(index, err)
	}
	if len(files) == 0 {
		return lang.Errorf("%s: no weight_map with tensors", index)
	}
	for _, file := range slices.Sorted(maps.Keys(files)) {
		full := store.Join(store.Dir(index), file)
		if _, err := store.Stat(full); errors.Is(err, fs.ErrNotExist) {
			s.fail(full, "", lang.Errorf("missing, although %s lists %s in this file", store.Base(index), lang.CountText(len(files[file]), "tensor")))
			continue
		}
		s.add(full, "", files[file])
	}
	return nil
}
