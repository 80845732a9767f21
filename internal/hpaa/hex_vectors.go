//go:build (amd64 || arm64) && !purego

package hpaa

//go:noescape
func hexGroupsVector(dst, src []byte) (written, read int)

// hexGroups decodes runs of digits, sixteen at a time, with single line ends between
// them, while there are 17 bytes of text and room for 8. It stops before what is
// something else.
func hexGroups(dst, src []byte) (written, read int) { return hexGroupsVector(dst, src) }
