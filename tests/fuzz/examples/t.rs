use strobe_fuzz::*;
use std::time::Instant;
fn main(){
 let mut b=campaign::Bench::new().unwrap();
 let mut reasons=std::collections::BTreeMap::<String,usize>::new();
 for seed in 0..3u64 { for level in ["-O0","-O1","-O2","-O3"] {
 let mut r=random::Random::new(seed);
 let ps:Vec<_>=(0..48).map(|_|hip::kernel(&mut r)).collect();
 let t=Instant::now();
 let c=compile::Compiler::new().unwrap();
 let elf=c.compile(compile::Language::Hip,&program::file(&ps),level).unwrap();
 let tc=t.elapsed();
 let m={let mut d=device::Device::new(); let m=d.load(&elf).unwrap();
 let t=Instant::now();
 let fs:Vec<_>=m.object.kernels.iter().map(|k|(k,judge::footprint(&m.object,k).unwrap())).collect();
 let ta=t.elapsed(); 
 let sc:Vec<_>=(0..5).map(|_|hip::scene(&mut r)).collect();
 let t=Instant::now();
 for (k,f) in &fs { for s in &sc { d.run(&m,k,s); } }
 let tr=t.elapsed(); let t=Instant::now();
 for (k,f) in &fs { for s in &sc { let a=device::predict(f,k,s); *reasons.entry(format!("{level} {:?}",a.writes.reason())).or_default()+=1; } }
 println!("{level} compile {tc:?} analyse {ta:?} run {tr:?} predict {:?} bytes {}",t.elapsed(), elf.len()); m };
 } }
 for (r,n) in reasons { println!("{n} {r}"); }
}
