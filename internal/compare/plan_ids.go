package compare

import (
	"errors"
	"fmt"
	"strconv"

	"dumptool/internal/compare/record"
	"dumptool/internal/lang"
	"dumptool/internal/safefile"
	"dumptool/internal/store"
)

// fileID says which content a file has, without reading it.
type fileID struct {
	size int64
	id   string // the ETag, or when the file was written
	// anyID is set where only the size counts.
	anyID bool
}

// idOf looks at a file.
func idOf(path string) (fileID, error) {
	info, err := store.Stat(path)
	if err != nil {
		return fileID{}, err
	}
	id, remote := info.Sys().(string)
	if !remote {
		id = strconv.FormatInt(info.ModTime().UnixNano(), 10)
	}
	return fileID{size: info.Size(), id: id}, nil
}

// fileIDs looks at every file once.
type fileIDs struct {
	ignore bool
	known  map[string]fileID
}

// of is what the file of a tensor is, as a plan has it.
func (f *fileIDs) of(t *Tensor) (string, error) {
	switch {
	case t.planned != nil:
		return t.planned.id, nil
	case f.ignore:
		return "", nil
	}
	id, ok := f.known[t.Path]
	if !ok {
		var err error
		if id, err = idOf(t.Path); err != nil {
			return "", safefile.WithPath(t.Path, err)
		}
		f.known[t.Path] = id
	}
	return id.id, nil
}

// checkUnchanged reports a tensor whose file is another one than when the plan was made.
func (t *Tensor) checkUnchanged() error {
	if t.planned == nil {
		return nil
	}
	now, err := idOf(t.Path)
	if err != nil {
		return err
	}
	if now.size != t.planned.size {
		return safefile.WithPath(t.Path, lang.Errorf("the file changed since the plan was made (%d bytes then, %d now)",
			"计划生成之后文件已改变(当时 %d 字节，现在 %d 字节)", t.planned.size, now.size))
	}
	if !t.planned.anyID && t.planned.id != "" && now.id != t.planned.id {
		return safefile.WithPath(t.Path, lang.Errorf("the file changed since the plan was made (etag %s then, %s now; --plan-ignore etag compares sizes only)",
			"计划生成之后文件已改变(当时 etag 为 %s，现在为 %s；--plan-ignore etag 只比较大小)", t.planned.id, now.id))
	}
	return nil
}

// plannedError is the error of a file that could not be read when the plan was made.
type plannedError struct {
	lang.Sentence
	code record.Code
	// named is set where the text names the file.
	named bool
}

// Error is the text in English.
func (e *plannedError) Error() string { return e.String() }

// pathError is the error of the tensor with the path of its file.
func (t *Tensor) pathError() error {
	if e, ok := errors.AsType[*plannedError](t.Err); ok {
		if e.named {
			return e
		}
		return fmt.Errorf("%s: %w", t.Path, e)
	}
	return safefile.WithPath(t.Path, t.Err)
}
