package convert

import (
	"fmt"
	"path/filepath"

	"dumptool/internal/filename"
	"dumptool/internal/lang"
	"dumptool/internal/store"
	"dumptool/internal/tensorfile"
)

// errHostOrder says why the tensors of a file that names them have no layout to
// convert.
var errHostOrder = lang.Errorf("its tensors are in host order: -f is for dumps", "其张量为主机侧排布：-f 用于 dump")

// leftNamed says why a file that names its tensors is left alone, or cannot be
// converted.
func (r *run) leftNamed() (why, err error) {
	switch {
	case r.opt.Target == nil:
		return nil, nil
	case r.alone:
		return nil, errHostOrder
	}
	return errHostOrder, nil
}

// named converts the tensors of a file that names them: to files of the names, in a
// folder that is called as the file is. Every component of a name but the last is a
// folder.
func (c *conversion) named(r *Result) {
	if r.Empty = len(c.f.Tensors) == 0; r.Empty {
		return
	}
	top := store.Join(c.run.opt.Out, filepath.FromSlash(c.job.Folder.Dir), component(c.base))
	if info, err := store.Stat(top); err == nil && !info.IsDir() && c.run.opt.Type != Safetensors {
		r.Err = lang.Failed(fmt.Errorf("its tensors go to the folder %s, which is a file: want another output folder", top))
		return
	}
	chosen, some := c.run.members[c.job.File]
	for i := range c.f.Tensors {
		t := &c.f.Tensors[i]
		if !c.selected(t) || some && !chosen[t.Name] {
			continue
		}
		if c.ctx.Err() != nil {
			return
		}
		r.Rows = append(r.Rows, c.member(t))
	}
	if len(r.Rows) == 0 {
		r.Err = lang.Failed(c.missing())
	}
}

// member converts one tensor of a file that names its tensors.
func (c *conversion) member(t *tensorfile.Tensor) Row {
	last := len(t.Path) - 1
	c.folder = component(c.base)
	for _, name := range t.Path[:last] {
		c.folder = store.Join(c.folder, component(filename.Safe(name)))
	}
	base := filename.Safe(t.Path[last])
	return c.tensor(t, func(p product) string { return arrayName(c.run.opt.Type, base, p) })
}

// component is a safe name as that of a folder: short enough for one.
func component(name string) string {
	if len(name) >= filename.MaxBytes {
		return filename.Short(name)
	}
	return name
}
