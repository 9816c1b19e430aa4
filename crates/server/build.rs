//! Links `src/allocator.c` into the program.

fn main() {
    println!("cargo:rerun-if-changed=src/allocator.c");
    // As objects: a linker drops an archive's member that nothing refers to.
    for object in cc::Build::new().file("src/allocator.c").compile_intermediates() {
        println!("cargo:rustc-link-arg-bin=pinhole={}", object.display());
    }
}
