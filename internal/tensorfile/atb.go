package tensorfile

import (
	"cmp"
	"path"
	"path/filepath"
	"strings"

	"dumptool/internal/filename"
	"dumptool/internal/format"
	"dumptool/internal/format/atb"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensor"
)

// ErrNoData is the error of a tensor whose statistics were saved without its elements.
var ErrNoData = atb.ErrNoData

// readATB reads a tensor of the Ascend Transformer Boost library. Every error is an error of the
// tensor, not of the file.
func readATB(f *File, src *containerInput) error {
	info := filename.Parse(src.name)
	head, err := atb.Read(src.file, src.size)
	if err == nil && head.Link != "" {
		err = f.readLinked(head)
	}
	if head.Spare > 0 {
		f.Warnings = append(f.Warnings, lang.Say("%d bytes after the data", head.Spare))
	}
	t := tensor.Tensor{DType: head.DType, Format: head.Format, Shape: head.Shape, Data: head.Data}
	if t.Data != nil {
		t.Size = t.Data.Size()
	}
	f.Tensors = []Tensor{{Kind: cmp.Or(info.Kind, tensor.Output), Index: info.Index, Tensor: format.Tensor{Tensor: t, Err: err}}}
	return nil
}

// readLinked reads the elements from the file that a header links to. The linked file must lie in the
// same run and hold the elements itself.
func (f *File) readLinked(head *atb.Header) error {
	path, err := resolveInRun(f.Path, head.Link)
	if err != nil {
		return lang.Errorf("the data are in another file: %w", err)
	}
	file, err := openRegular(path)
	if err != nil {
		return lang.Errorf("the data are in another file: %w", err)
	}
	f.linked = file
	other, err := atb.Read(file, file.Size())
	switch {
	case err != nil:
		return lang.Errorf("the data are in %s: %w", path, err)
	case other.Data == nil:
		return lang.Errorf("the data are in %s, which in turn refers to another file", path)
	}
	if !head.HasType {
		head.DType, head.HasType, head.Shape, head.Format = other.DType, true, other.Shape, other.Format
	}
	head.Data = other.Data
	return head.Check(other.Data.Size())
}

// resolveInRun resolves a link in the file at path. Links that lead out of the file's run are refused.
func resolveInRun(path, link string) (string, error) {
	path, err := store.Abs(path)
	if err != nil {
		return "", err
	}
	root := runRoot(store.Dir(path))
	tries := []string{link}
	if !store.IsAbs(link) {
		tries = []string{joinLink(store.Dir(path), link), joinLink(root, link)}
	}
	var first error
	for _, try := range tries {
		real, err := store.ResolveWithin(root, try)
		if err == nil {
			return real, nil
		}
		first = cmp.Or(first, err)
	}
	return "", first
}

// joinLink joins a folder and a relative link. It resolves a leading ".." for object storage, where
// names are literal.
func joinLink(dir, link string) string {
	link = path.Clean(filepath.ToSlash(link))
	for store.IsRemote(dir) && strings.HasPrefix(link, "../") {
		dir, link = store.Dir(dir), link[len("../"):]
	}
	return store.Join(dir, link)
}

// atbFolder matches the folders of the library's runs, from the tensors up: before,
// 0_MatMulOperation, the number of an execution, 0_PID, data.
var atbFolder = lang.Pattern(`^(?:before|after|[0-9]+(?:_.+)?|data|atb_dump_data)$`)

// runRoot returns the topmost folder of the run of a folder.
func runRoot(dir string) string {
	isPart := func(dir string) bool { return atbFolder().MatchString(store.Base(dir)) }
	for isPart(dir) && store.Base(dir) != "atb_dump_data" && isPart(store.Dir(dir)) {
		dir = store.Dir(dir)
	}
	return dir
}
